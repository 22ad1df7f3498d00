"""A growing column of numbers that can be asked for the combination (minimum, maximum, ...) of any span of it."""

from collections.abc import Callable, Iterable, MutableSequence, Sequence
from typing import Generic, TypeVar

T = TypeVar("T", bound=float)

BLOCK = 64


class Blocks(Generic[T]):
    """Values with one combined value for each 64 of them, so that a span costs its length / 64.

    ``combine`` must be associative, commutative and idempotent over non-empty sequences, like ``min``.
    """

    def __init__(self, combine: Callable[[Iterable[T]], T], values: MutableSequence[T]) -> None:
        self._combine = combine
        self.values = values
        self._blocks: list[T] = []

    def append(self, value: T) -> None:
        """Add a value at the end."""
        values = self.values
        values.append(value)
        if not len(values) % BLOCK:
            self._blocks.append(self._combine(values[-BLOCK:]))

    def add(self, index: int, value: T) -> None:
        """Combine ``value`` into the one at ``index``."""
        self.values[index] = self._combine((self.values[index], value))
        block = index // BLOCK
        if block < len(self._blocks):
            self._blocks[block] = self._combine((self._blocks[block], value))

    def over(self, start: int, stop: int) -> T:
        """The combination of values ``start`` to ``stop``, which must hold at least one."""
        first, last = -(-start // BLOCK), stop // BLOCK
        if first >= last:
            return self._combine(self.values[start:stop])
        parts: list[T] = [self._combine(self._blocks[first:last])]
        edges = (self.values[start : first * BLOCK], self.values[last * BLOCK : stop])
        parts += [self._combine(edge) for edge in edges if edge]
        return self._combine(parts)


def union(flags: Iterable[int]) -> int:
    """Bit flags or-ed together."""
    result = 0
    for value in set(flags):
        result |= value
    return result


def spans(count: int, columns: int) -> Sequence[tuple[int, int]]:
    """``count`` things over at most ``columns`` columns, as evenly as can be: (start, stop) for each column."""
    columns = min(count, columns)
    return [(i * count // columns, (i + 1) * count // columns) for i in range(columns)]
