"""Where the base's choice stood among a drafter's candidates: would a wider draft pay?"""

from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

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


class Recall:
    """How often the base's choice was among the drafter's best, over the rounds that were added."""

    def __init__(self) -> None:
        self.judged = 0
        self._found: Counter[int] = Counter()

    def add(self, round_: Round) -> None:
        """Take in a round."""
        for rank in choice_ranks(round_):
            self.judged += 1
            if rank is not None:
                self._found[rank] += 1

    @property
    def widest(self) -> int:
        """The last rank at which a choice was found, 0 if none was."""
        return max(self._found, default=0)

    def shares(self, width: int) -> tuple[float, ...] | None:
        """The shares of judged drafts with the choice among the best 1, 2, ... ``width``; ``None`` without any."""
        if not self.judged:
            return None
        return tuple(count / self.judged for count in accumulate(self._found[rank] for rank in range(1, width + 1)))


def recall(rounds: Iterable[Round], width: int) -> tuple[float, ...] | None:
    """The share of judged drafts whose row held the base's choice among its best 1, 2, ... ``width`` candidates.

    The first entry is what a single draft can reach, the last what a tree or a selector of that width could. ``None``
    if no draft with candidates was judged. A width beyond the recorded candidates finds no more than they hold.
    """
    found = Recall()
    for round_ in rounds:
        found.add(round_)
    return found.shares(width)
