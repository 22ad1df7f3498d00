"""Where the base's choice stood among a drafter's candidates: would a wider draft pay?"""

from collections.abc import Iterable

from engine.records import Round


def choice_ranks(round_: Round) -> tuple[int | None, ...]:
    """For each draft that was judged, the rank (1 is the best) of the base's choice among the drafter's candidates.

    ``None`` where it was not among those recorded. Empty if none were recorded: candidates are an option of a run.
    """
    if round_.draft_top is None or round_.targets is None:
        return ()
    judged = min(round_.in_batch, round_.take + (round_.cut != "stop"))
    ranks = []
    for row, choice in zip(round_.draft_top[:judged], round_.targets, strict=False):
        ids = [token for token, _ in row]
        ranks.append(ids.index(choice) + 1 if choice in ids else None)
    return tuple(ranks)


def recall(rounds: Iterable[Round], width: int) -> tuple[float, ...] | None:
    """The share of judged drafts whose row held the base's choice among its best 1, 2, ... ``width`` candidates.

    The first entry is what a single draft can reach, the last what a tree or a selector of that width could. ``None``
    if no draft with candidates was judged. A width beyond the recorded candidates finds no more than they hold.
    """
    ranks = [rank for round_ in rounds for rank in choice_ranks(round_)]
    if not ranks:
        return None
    return tuple(sum(rank is not None and rank <= w for rank in ranks) / len(ranks) for w in range(1, width + 1))
