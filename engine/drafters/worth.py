"""What matches of each length have been worth: how often the token that they foretold came."""

from array import array

WEIGHT = 4
"""How many matches the chance that is assumed before any was seen stands for."""


def assumed(length: int) -> float:
    """The chance that a match of ``length`` tokens foretells the next: 0.23 for one, 0.49 for two, 0.62 for three.

    About what it was over held-out code, documentation, prose and chat (``benchmarks/README.md``).
    """
    return 1 - 1.54 / (length + 1)


class Worth:
    """Counts of matches by their length, ``longest`` tokens or less; those of more are counted there."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._matches = [0] * (longest + 1)
        self._right = [0] * (longest + 1)
        # The length of the match that each token was foretold by, negative if it was not that token, 0 without one.
        self._seen = array("b")

    def add(self, length: int, *, right: bool) -> None:
        """The next token came, as a match of ``length`` tokens foretold or not; 0 if there was no match."""
        self._seen.append(length if right else -length)
        self._matches[length] += 1
        self._right[length] += right

    def cut(self, keep: int) -> None:
        """Forget all but the first ``keep`` tokens."""
        while len(self._seen) > keep:
            seen = self._seen.pop()
            self._matches[abs(seen)] -= 1
            self._right[abs(seen)] -= seen > 0

    def chance(self, length: int) -> float:
        """That a match of ``length`` tokens foretells the next one."""
        length = min(length, self._longest)
        return (self._right[length] + WEIGHT * assumed(length)) / (self._matches[length] + WEIGHT)

    def drafts(self, length: int, limit: int, row: float) -> int:
        """How many tokens to draft, ``limit`` at most, where one costs ``row`` and is worth its chance of being kept.

        That is the chance that it and all before it are right. A batch costs half a row beside those of its drafts.
        """
        chance, gain, count = 1.0, 0.0, 0
        while count < limit:
            chance *= self.chance(length + count)
            if chance < row:
                break
            gain += chance - row
            count += 1
        return count if gain >= row / 2 else 0
