"""Runs a recorded run's own tokens through a base and a drafter, and compares what they say at every row of it.

The text is the trace's throughout, whatever the models would have written, so that one difference does not make others
behind it: each row is asked for what comes behind the very tokens that the recorded row stood behind.
"""

from collections.abc import Callable, Sequence

import numpy as np

from engine.base.base import Base, Floats, Rows
from engine.check.held import Difference, Held, Tally
from engine.drafters.drafter import Drafter, Pick
from engine.errors import EngineFault, Refused
from engine.options import Options
from engine.records import Round, RoundSource
from engine.sampling import AnySampler, Rejection, sampler_of, softmax

Progress = Callable[[int], None]
"""Told how many rounds were looked at."""


class Walk:
    """One walk over a run.

    Base and drafter are empty; without a drafter no drafts are compared. ``tie`` is in logits.

    Raises:
        Refused: the trace does not say its prompt or its tokens, or they are not of this vocabulary.
    """

    def __init__(self, source: RoundSource, base: Base, drafter: Drafter | None, options: Options, tie: float) -> None:
        prompt = source.header.prompt
        if not prompt:
            raise Refused("the trace does not hold its prompt, so that there is nothing to run here")
        if source.header.detail != "full":
            raise Refused("the trace holds counts and no tokens: there is nothing to hold against a model")
        self._source, self._base, self._drafter = source, base, drafter
        self._prompt = prompt
        self._pos = len(prompt)
        self._sampler: AnySampler = sampler_of(options)
        self._tie = tie
        self.held = Held(judged=not isinstance(self._sampler, Rejection))
        self._known(prompt, "the prompt")

    def run(self, rounds: int, told: Progress = lambda _: None) -> Held:
        """Walk over the prompt and the first ``rounds`` rounds; what was found."""
        try:
            with np.errstate(all="ignore"):  # a row that is not finite is compared as it is
                self._begin()
                for index in range(min(rounds, len(self._source))):
                    self._round(self._source.round(index))
                    self.held.rounds += 1
                    told(index + 1)
        except EngineFault as fault:
            self.held.stopped = f"round {self.held.rounds}: {fault}"
        return self.held

    def _begin(self) -> None:
        row = self._base.prefill(self._prompt).logits[-1]
        prefill = self._source.prefill
        if prefill is not None:
            self._choice(None, 0, len(self._prompt), prefill.next, row, None)
            self.held.candidates(prefill.top or (), row)
        if self._drafter is not None:
            self._drafter.commit(self._prompt, self._base.features(0, len(self._prompt)))

    def _round(self, round_: Round) -> None:
        emitted, t1 = round_.emitted, round_.t1
        if t1 is None or not emitted:
            raise Refused(f"round {round_.index} of the trace does not say which tokens it emitted")
        drafts = round_.drafts or ()
        batch = (t1, *drafts[: round_.in_batch])
        self._known((*batch, *drafts, *emitted), f"round {round_.index}")
        start = self._pos
        if self._drafter is not None and drafts:
            self._drafted(round_, drafts, t1, start, self._drafter)
        rows = self._base.verify(batch) if len(batch) > 1 else self._base.step(t1)
        self._rows(round_, rows.logits, start)
        if emitted != batch[: len(emitted)]:
            # The trace emits what it did not verify, which the audit tells; the state is to hold what was emitted.
            self._base.rollback(start)
            rows = self._base.verify(emitted) if len(emitted) > 1 else self._base.step(emitted[0])
        self._pos += len(emitted)
        self._base.rollback(self._pos)
        if self._drafter is not None:
            self._drafter.commit(emitted, rows.kept(len(emitted)))

    def _rows(self, round_: Round, logits: Floats, start: int) -> None:
        targets, probabilities, top = _targets(round_), round_.target_p or (), round_.top or ()
        for j, row in enumerate(logits):
            recorded = probabilities[j] if j < len(probabilities) else None
            self._choice(round_.index, j, start + 1 + j, targets.get(j), row, recorded)
            if j < len(top):
                self.held.candidates(top[j], row)

    def _choice(
        self, index: int | None, j: int, position: int, traced: int | None, row: Floats, recorded: float | None
    ) -> None:
        if traced is None or not 0 <= traced < len(row):
            return
        self.held.choices.number(recorded, float(self._sampler.probs(row)[traced]) if recorded is not None else 0.0)
        if self.held.judged:
            here = self._sampler.choose(row, position)
            self._compare(self.held.choices, "choice", index, j, position, traced, here, row)

    def _drafted(self, round_: Round, drafts: Sequence[int], t1: int, start: int, drafter: Drafter) -> None:
        """Let the drafter draft what was drafted, each behind the traced ones; compare what it would have picked."""
        recorded, asked = round_.draft_p or (), 0

        def pick(row: Floats, position: int) -> Pick:
            nonlocal asked
            j = asked
            asked += 1
            own = self._sampler.propose(row, position)
            traced = drafts[j] if j < len(drafts) else own.token
            if self.held.judged and j < len(drafts):
                self._compare(self.held.drafts, "draft", round_.index, j, position, traced, own.token, row)
            if j < len(recorded):
                self.held.drafts.number(recorded[j], float((softmax(row) if own.q is None else own.q)[traced]))
            return Pick(traced, own.p, own.confidence, own.q)

        anchor: Rows | None = None
        if drafter.needs_anchor_row:
            anchor = self._base.step(t1).copied()
            self._base.rollback(start)
        made = drafter.draft(t1, len(drafts), pick, 0.0, anchor).tokens
        if asked:
            return
        # It picks from no rows: what it drafts depends on nothing but the text, up to the first that differs.
        for j, traced in enumerate(drafts):
            here = made[j] if j < len(made) else -1
            self._compare(self.held.drafts, "draft", round_.index, j, start + 1 + j, traced, here, None)
            if here != traced:
                break

    def _compare(
        self,
        tally: Tally,
        what: str,
        index: int | None,
        j: int,
        position: int,
        traced: int,
        here: int,
        row: Floats | None,
    ) -> None:
        if here == traced:
            tally.same()
            return
        gap = None if row is None else float(row[here] - row[traced])
        greedy = self._source.header.options.get("temperature", 0) in (0, None)
        tie = gap is not None and greedy and bool(np.isfinite(gap)) and gap <= self._tie
        tally.put(
            Difference(what=what, round=index, row=j, position=position, traced=traced, here=here, gap=gap, tie=tie)
        )

    def _known(self, tokens: Sequence[int], where: str) -> None:
        size = self._base.vocab_size
        strange = next((token for token in tokens if not 0 <= token < size), None)
        if strange is not None:
            raise Refused(
                f"{where} of the trace has token {strange}, and this model has {size}: it is not the model that ran"
            )


def _targets(round_: Round) -> dict[int, int]:
    """What the trace's base chose, by row: as recorded, else as the accepted drafts and the next token say."""
    if round_.targets is not None:
        return dict(enumerate(round_.targets))
    drafts = round_.drafts or ()
    known = dict(enumerate(drafts[: round_.take]))
    return known if round_.next is None else known | {round_.take: round_.next}
