"""Would a wider draft pay: where the base's choice stood among the drafter's candidates."""

from typing import Any

import numpy as np
import pytest

from engine.base.toy import ToyBase
from engine.drafters.draft_model import DraftModelDrafter
from engine.loop import Run, prefill, rounds
from engine.options import Options
from engine.ranks import choice_ranks, recall
from engine.records import Round


def made(targets: tuple[int, ...], take: int, **more: Any) -> Round:
    """A round of three drafts whose candidates are 1, 2, 3 then 4, 5, 6 then 7, 8, 9, best first."""
    rows = (((1, 3.0), (2, 2.0), (3, 1.0)), ((4, 3.0), (5, 2.0), (6, 1.0)), ((7, 3.0), (8, 2.0), (9, 1.0)))
    return Round(index=0, form="one-pass", drafts=(1, 4, 7), targets=targets, take=take, **{"draft_top": rows, **more})


@pytest.mark.parametrize(
    ("round_", "ranks"),
    [
        (made((1, 4, 7, 0), 3), (1, 1, 1)),
        (made((1, 6, 7, 0), 1), (1, 3)),
        (made((0, 4, 7, 0), 0), (None,)),
        # Behind a stop nothing was judged, behind the verified drafts nothing was compared.
        (made((1, 4, 7, 0), 2, cut="stop"), (1, 1)),
        (made((1, 5), 1, verified=1), (1,)),
        (made((1, 5, 0, 0), 1, draft_top=None), ()),
        (Round(index=0, form="plain", drafts=(), targets=(5,)), ()),
        (Round(index=0, form="one-pass", n_drafts=3, n_emitted=2, take=1), ()),
    ],
)
def test_the_rank_is_that_of_the_base_s_choice_on_judged_rows(round_: Round, ranks: tuple[int | None, ...]) -> None:
    assert choice_ranks(round_) == ranks


def test_recall_is_the_share_of_judged_drafts_within_a_width() -> None:
    several = [made((1, 6, 7, 0), 1), made((0, 4, 7, 0), 0), made((2, 4, 7, 0), 0)]
    # Ranks 1, 3, none, 2.
    assert recall(several, 4) == (0.25, 0.5, 0.75, 0.75)


def test_without_candidates_recall_is_unknown() -> None:
    assert recall([], 3) is None
    assert recall([made((1, 6, 7, 0), 1, draft_top=None)], 3) is None


def test_in_a_greedy_run_recall_at_one_is_the_share_of_judged_drafts_that_landed() -> None:
    rng = np.random.default_rng(0)
    base_rows, noise = rng.normal(0, 1, (8, 8, 8)), rng.normal(0, 0.6, (8, 8, 8))
    base = ToyBase(8, lambda history: base_rows[len(history) % 8, history[-1]].astype(np.float32))
    model = ToyBase(8, lambda history: (base_rows + noise)[len(history) % 8, history[-1]].astype(np.float32))
    run_ = Run(base, DraftModelDrafter(model), 2, prefill(base, (0, 1)), Options(max_tokens=50, k=3), candidates=8)
    several = list(rounds(run_))
    judged = sum(min(round_.take + 1, len(round_.drafts or ())) for round_ in several)
    shares = recall(several, 8)
    assert shares is not None
    assert shares[0] == sum(round_.take for round_ in several) / judged
    assert sorted(shares) == list(shares)
    assert shares[-1] == 1.0
