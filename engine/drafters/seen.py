"""A text that knows where its end stood before."""

from array import array
from typing import NamedTuple


class Match(NamedTuple):
    """The last ``length`` tokens of a text stood before, 0 if they did not; what followed them begins at ``place``."""

    place: int = 0
    length: int = 0


class SeenText:
    """Finds the longest end of a text, ``shortest`` to ``longest`` tokens, that stood before with a token behind it.

    A token more and a search take the same time however long the text is. ``latest`` says which occurrence of that end
    is found, the last one or the first. ``match`` is what was found for the text as it is.
    """

    def __init__(self, shortest: int, longest: int, *, latest: bool) -> None:
        self.tokens = array("I")
        self.match = Match()
        self._latest = latest
        self._longest = longest
        size = self.tokens.itemsize
        self._lengths = [(length, length * size) for length in range(shortest, longest + 1)]
        # Where what followed some tokens begins, by their bytes; and what that was before each token was put there.
        self._places: dict[bytes, int] = {}
        self._before = array("q")

    def push(self, token: int) -> None:
        """The text goes on with ``token``."""
        place, end = len(self.tokens), self._end()
        for _, size in self._lengths:
            before = -1
            if size <= len(end):
                key = end[-size:]
                before = self._places.get(key, -1)
                if self._latest or before < 0:
                    self._places[key] = place
            self._before.append(before)
        self.tokens.append(token)
        self.match = self._found()

    def cut(self, keep: int) -> None:
        """Forget all but the first ``keep`` tokens."""
        if keep >= len(self.tokens):
            return
        while len(self.tokens) > keep:
            self._pop()
        self.match = self._found()

    def following(self, count: int) -> list[int]:
        """``count`` tokens that followed the match; behind the text's end they begin again."""
        given = self.tokens[self.match.place : self.match.place + count]
        return [given[i % len(given)] for i in range(count)]

    def _pop(self) -> None:
        self.tokens.pop()
        end = self._end()
        for _, size in reversed(self._lengths):
            before = self._before.pop()
            if size <= len(end):
                if before < 0:
                    del self._places[end[-size:]]
                else:
                    self._places[end[-size:]] = before

    def _found(self) -> Match:
        end, found = self._end(), Match()
        for length, size in self._lengths:
            place = self._places.get(end[-size:]) if size <= len(end) else None
            if place is None:
                break
            found = Match(place, length)
        return found

    def _end(self) -> bytes:
        return self.tokens[-self._longest :].tobytes()
