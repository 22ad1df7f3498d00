"""The branches of a live run: which there are, where each came off, and what to do with one."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from engine.whatif import rule_of
from tui.keys import Hint
from tui.lines import Line, Span, left
from tui.live import LiveSource
from tui.marks import Marks, Role
from tui.offers import told
from tui.screens.listing import ListingScreen
from tui.text import safe


class BranchesScreen(ListingScreen):
    """Lists branches; ``show`` gets the one chosen, ``rename`` the one that is to have another name."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("r", "rename", "rename", show=False)]
    entering = "show"
    hints = (Hint("r", "rename"),)

    def __init__(
        self,
        marks: Marks,
        branches: Sequence[LiveSource],
        here: LiveSource,
        show: Callable[[LiveSource], None],
        rename: Callable[[LiveSource], None],
    ) -> None:
        super().__init__(marks, "branches of this run: a shown one is saved by W, compared by =")
        self._branches, self._here, self._show, self._rename = branches, here, show, rename
        self.cursor = next(i for i, branch in enumerate(branches) if branch is here)

    def rows(self) -> int:
        return len(self._branches)

    def row(self, index: int, _width: int) -> Line:
        branch = self._branches[index]
        state = "shown  " if branch is self._here else "       "
        going = "" if branch.end is not None else ", goes on"
        name = left(safe(branch.name, self.marks), 12, self.marks)
        header = branch.header
        drafter = "none" if header.drafter is None else header.drafter.kind
        options = f"{drafter} k {header.options.get('k')} bar {rule_of(header.options).bar:g}"
        return (
            Span(name, Role.STRONG),
            Span(f" {state}", Role.KEY),
            Span(f"{left(safe(options, self.marks), 20, self.marks)} ", Role.DIM),
            Span(f"{told(branch)}{going}"),
        )

    def enter(self, index: int) -> None:
        self.dismiss()
        self._show(self._branches[index])

    def action_rename(self) -> None:
        """Give the branch at the cursor another name."""
        self.dismiss()
        self._rename(self._branches[self.cursor])
