"""The same run as a writer that knows less would record it."""

from collections.abc import Sequence

import msgspec

from engine.records import AnyRecord, Header, Prefill, Round


def counts_only(records: Sequence[AnyRecord]) -> list[AnyRecord]:
    """The same run as an imported log has it."""
    out: list[AnyRecord] = []
    for record in records:
        match record:
            case Header():
                out.append(msgspec.structs.replace(record, detail="counts", prompt=None))
            case Round():
                out.append(
                    Round(
                        index=record.index,
                        form=record.form,
                        reason=record.reason,
                        n_drafts=record.drafted,
                        take=record.take,
                        n_emitted=record.count,
                        ms=record.ms,
                    )
                )
            case Prefill():
                pass
            case _:
                out.append(record)
    return out


# Not ``verified``, whose absence says that all drafts were in the batch.
OPTIONAL = (
    *("reason", "limit", "targets", "emitted", "cut", "next", "consumed", "t1", "pos", "fallback"),
    *("draft_p", "target_p", "accept_p", "gap", "u", "draft_top", "ms", "state"),
)


def without(records: Sequence[AnyRecord], keys: Sequence[str]) -> list[AnyRecord]:
    """The same run by a writer that leaves out optional keys of its rounds."""
    absent = dict.fromkeys(keys)
    return [msgspec.structs.replace(record, **absent) if isinstance(record, Round) else record for record in records]
