"""The drafters that run a graph: right rows, and the same text as plain decode whatever becomes of their drafts."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.base import Rows
from engine.base.onnx import OnnxBase
from engine.drafters.dflash import DFlash2Drafter, DFlashDrafter, first_best_of
from engine.drafters.drafter import Draft, Drafter, Pick, PickRow, first_best
from engine.drafters.lookup import LookupDrafter
from engine.drafters.mtp import MtpDrafter
from engine.errors import EngineFault, ModelError
from engine.loop import Run, prefill, rounds, run
from engine.models.bundle_writer import Networks
from engine.models.bundled import Bundle, load_base, load_drafter
from engine.options import Options
from engine.records import DrafterInfo
from engine.sampling import Greedy, softmax
from engine.session import Session
from tests.models.reference import Reference
from tests.models.tiny import BLOCK, CONTEXT, SELECTOR_TOP, TAPS, VOCAB, assert_close, prompt

KINDS = ("mtp", "dflash", "dflash2")
greedy = Greedy().propose


class Steered:
    """A drafter whose own picks are overruled, so that a chosen number of its drafts are right in each round."""

    def __init__(self, drafter: Drafter, text: Sequence[int], takes: Callable[[int], int]) -> None:
        self._drafter = drafter
        self._text = text
        self._takes = takes
        self._round = 0
        self.info, self.vocab_size, self.needs = drafter.info, drafter.vocab_size, drafter.needs
        self.needs_anchor_row = drafter.needs_anchor_row

    @property
    def consumed(self) -> int:
        return self._drafter.consumed

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:
        wrong_at = self.consumed + 1 + self._takes(self._round)
        self._round += 1

        def steer(row: np.ndarray, position: int) -> Pick:
            assert not np.isnan(row).any()
            token = self._text[position] if position < len(self._text) else 0
            return Pick((token + (position == wrong_at)) % VOCAB, 0.5, 0.5)

        return self._drafter.draft(t1, limit, steer, tau, anchor)

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:
        self._drafter.commit(tokens, rows)

    def rollback(self, keep: int) -> None:
        self._drafter.rollback(keep)


TAKES: dict[str, Callable[[int], int]] = {
    "none": lambda _: 0,
    "one": lambda _: 1,
    "all": lambda _: 99,
    "random": lambda round_: int(np.random.default_rng(round_).integers(0, 6)),
}


@pytest.mark.parametrize("form", ["one-pass", "two-pass"])
@pytest.mark.parametrize("takes", TAKES)
@pytest.mark.parametrize("kind", KINDS)
def test_forced_takes_leave_the_text_that_of_plain_decode(bundle: Bundle, kind: str, takes: str, form: str) -> None:
    plain = run(load_base(bundle), None, prompt(9), Options(max_tokens=40))
    text = [*prompt(9), *plain.tokens]
    base, drafter = load_base(bundle), load_drafter(bundle, kind)
    options = Options(max_tokens=40, k=4, form=form)

    result = run(base, Steered(drafter, text, TAKES[takes]), prompt(9), options)

    assert result.tokens == plain.tokens
    assert result.reason == "max_tokens"
    assert drafter.consumed == base.consumed == 49
    wanted = [min(TAKES[takes](round_.index), len(round_.drafts or ())) for round_ in result.rounds]
    assert [round_.take for round_ in result.rounds] == wanted
    assert_close(_next_rows(drafter), _next_rows(_fresh(bundle, kind, base)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_drafter_that_is_told_to_pick_the_first_best_picks_what_any_such_function_picks(
    bundle: Bundle, kind: str
) -> None:
    base = load_base(bundle)
    base.prefill(prompt(20))
    quick, plain = _fresh(bundle, kind, base), _fresh(bundle, kind, base)
    for t1 in range(30):
        got, want = quick.draft(t1, 4, first_best, 0.0), plain.draft(t1, 4, greedy, 0.0)
        assert got.tokens == want.tokens
        assert got.p is None or got.p == pytest.approx(want.p, rel=1e-5)
        assert got.logits is not None
        assert want.logits is not None
        assert np.array_equal(got.logits, want.logits)


@given(st.permutations(range(8)), st.lists(st.sampled_from([-1.5, 0.0, 2.0, 2.5]), min_size=3, max_size=8))
def test_the_first_best_of_a_few_tokens_is_that_of_the_row_they_stand_in(ids: list[int], logits: list[float]) -> None:
    tokens = ids[: len(logits)]
    row = np.full(8, -np.inf, np.float32)
    row[tokens] = logits
    pick = first_best_of(tokens, logits)
    assert pick is not None
    assert pick.token == int(row.argmax())
    assert (pick.p, pick.confidence) == pytest.approx((softmax(row)[pick.token],) * 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e4])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_few_tokens_of_which_one_has_no_plain_logit_leave_the_pick_to_the_row(value: float, at: int) -> None:
    logits = [1.0, 2.0, 0.5]
    logits[at] = value
    assert first_best_of([5, 3, 9], logits) is None


@pytest.mark.parametrize("form", ["one-pass", "two-pass"])
def test_lookup_leaves_the_text_that_of_plain_decode(bundle: Bundle, form: str) -> None:
    plain = run(load_base(bundle), None, prompt(6), Options(max_tokens=30))
    # The text it will write, somewhat changed, stands in the prompt: some drafts land and some do not.
    hint = [token if i % 7 else 5 for i, token in enumerate(plain.tokens)]
    start = [*hint, *prompt(6)]
    want = run(load_base(bundle), None, start, Options(max_tokens=30))

    got = run(load_base(bundle), LookupDrafter(shortest=1), start, Options(max_tokens=30, k=5, form=form))

    assert got.tokens == want.tokens
    assert {"one-pass", "two-pass", "plain"} >= {round_.form for round_ in got.rounds}
    assert any(round_.drafts for round_ in got.rounds)


def test_the_mtp_chain_is_that_of_the_network(bundle: Bundle, nets: Networks, reference: Reference) -> None:
    assert nets.mtp is not None
    tokens, t1 = prompt(12), 77
    base = load_base(bundle)
    base.prefill(tokens)
    drafter = _fresh(bundle, "mtp", base)

    draft = drafter.draft(t1, 4, greedy, 0.0)

    _, hidden, _ = reference.states(tokens, TAPS)
    want = reference.mtp_chain(nets.mtp, [*tokens, t1], hidden, list(draft.tokens[:3]))
    assert draft.logits is not None
    assert_close(draft.logits, want)
    assert draft.tokens == tuple(int(row.argmax()) for row in want)


@pytest.mark.parametrize("context", [1, 12])
def test_the_dflash_block_is_that_of_the_network(
    bundle: Bundle, nets: Networks, reference: Reference, context: int
) -> None:
    assert nets.dflash is not None
    tokens, t1 = prompt(context), 77
    base = load_base(bundle)
    base.prefill(tokens)
    drafter = _fresh(bundle, "dflash", base)

    draft = drafter.draft(t1, BLOCK - 1, greedy, 0.0)

    _, _, taps = reference.states(tokens, TAPS)
    want = reference.head(reference.dflash_rows(nets.dflash, t1, taps, BLOCK))
    assert draft.logits is not None
    assert_close(draft.logits, want)
    assert draft.tokens == tuple(int(row.argmax()) for row in want)


@pytest.mark.parametrize("context", [1, 12])
def test_dflash_2_walks_the_candidates_as_the_network_does(
    bundle: Bundle, nets: Networks, reference: Reference, context: int
) -> None:
    assert nets.dflash2 is not None
    tokens, t1 = prompt(context), 77
    base = load_base(bundle)
    base.prefill(tokens)
    drafter = _fresh(bundle, "dflash2", base)

    draft = drafter.draft(t1, BLOCK - 1, greedy, 0.0)

    _, _, taps = reference.states(tokens, TAPS)
    rows = reference.dflash_rows(nets.dflash2, t1, taps, BLOCK)
    walk, scores = reference.selector_walk(nets.dflash2, t1, rows, SELECTOR_TOP)
    assert draft.tokens == tuple(walk)
    assert walk != [int(row.argmax()) for row in reference.head(rows)]
    assert_close(draft.logits, scores)


def test_dflash_2_draws_only_from_its_candidates(bundle: Bundle) -> None:
    options = Options(max_tokens=30, k=BLOCK - 1, temperature=1.0, sampler="rejection", seed=3)

    base = load_base(bundle)
    logits = prefill(base, prompt(7))
    running = Run(base, load_drafter(bundle, "dflash2"), 7, logits, options, candidates=SELECTOR_TOP + 1)
    made = list(rounds(running))

    offered = [row for round_ in made for row in round_.draft_top or ()]
    assert all(sum(logit > -np.inf for _, logit in row) == SELECTOR_TOP for row in offered)
    drafts = [token for round_ in made for token in round_.drafts or ()]
    assert all(token in [id_ for id_, _ in row[:-1]] for token, row in zip(drafts, offered, strict=True))


MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.integers(1, 5)),
        st.tuples(st.just("draft"), st.integers(1, BLOCK - 1)),
        st.tuples(st.just("rollback"), st.floats(0, 1)),
    ),
    max_size=14,
)


@pytest.mark.parametrize("kind", KINDS)
@given(moves=MOVES, seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_after_any_commits_drafts_and_rollbacks_the_next_draft_is_that_of_a_fresh_drafter(
    bundle: Bundle, kind: str, moves: list[tuple[str, float]], seed: int
) -> None:
    base, drafter = load_base(bundle), load_drafter(bundle, kind)
    rng = np.random.default_rng(seed)

    def commit(count: int) -> None:
        tokens = [int(token) for token in rng.integers(0, VOCAB, count)]
        rows = base.verify(tokens)
        drafter.commit(tokens, rows)
        rows.logits[:] = np.nan
        if rows.hidden is not None and rows.taps is not None:
            rows.hidden[:] = rows.taps[:] = np.nan

    commit(3)
    for name, size in moves:
        if name == "commit":
            commit(int(size))
        elif name == "draft":
            # Sometimes the drafted-for token is the one that is committed next, mostly it is not.
            drafter.draft(int(rng.integers(0, VOCAB)), int(size), greedy, 0.0)
        else:
            keep = int(size * base.consumed)
            base.rollback(keep)
            drafter.rollback(keep)
        assert drafter.consumed == base.consumed
    if base.consumed == 0:
        commit(1)

    assert_close(_next_rows(drafter), _next_rows(_fresh(bundle, kind, base)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_goes_back_to_any_earlier_round_and_on_again(bundle: Bundle, kind: str) -> None:
    plain = run(load_base(bundle), None, prompt(9), Options(max_tokens=30))
    base = load_base(bundle)
    logits = prefill(base, prompt(9))
    steered = Steered(load_drafter(bundle, kind), [*prompt(9), *plain.tokens], TAKES["random"])
    running = Run(base, steered, 9, logits, Options(max_tokens=30, k=4))
    made = []
    while (round_ := running.step()) is not None:
        made.append(round_)

    for keep in range(len(made) - 1, -1, -1):
        running.rewind(made[:keep])
        while running.step() is not None:
            pass
        assert tuple(running.emitted) == plain.tokens


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_stops_behind_the_first_pick_under_tau(bundle: Bundle, kind: str) -> None:
    base = load_base(bundle)
    base.prefill(prompt(5))
    picked: list[int] = []

    def pick(row: np.ndarray, position: int) -> Pick:
        picked.append(position)
        return Pick(1, 0.9, 0.9 if len(picked) < 3 else 0.2)

    draft = _fresh(bundle, kind, base).draft(9, 5, pick, 0.5)

    assert len(draft.tokens) == 3
    assert picked == [6, 7, 8]


@pytest.mark.parametrize("kind", KINDS)
def test_drafting_reaches_the_end_of_the_context(bundle: Bundle, kind: str) -> None:
    options = Options(max_tokens=20, k=BLOCK - 1)
    start = prompt(CONTEXT - 20)
    plain = run(load_base(bundle), None, start, options)
    text = [*start, *plain.tokens]

    result = run(load_base(bundle), Steered(load_drafter(bundle, kind), text, TAKES["all"]), start, options)

    assert result.tokens == plain.tokens


@pytest.mark.parametrize("kind", KINDS)
def test_a_drafter_whose_session_died_faults_the_run(bundle: Bundle, kind: str) -> None:
    base, drafter = load_base(bundle), load_drafter(bundle, kind)
    assert isinstance(drafter, MtpDrafter | DFlashDrafter)
    running = Run(base, drafter, 5, prefill(base, prompt(5)), Options(max_tokens=20))
    running.step()
    drafter.close()

    assert running.step() is None
    assert running.reason == "fault"
    assert "session is dead" in running.events[-1].message
    assert drafter.consumed == base.consumed == 5 + len(running.emitted)
    with pytest.raises(EngineFault):
        drafter.draft(1, 1, greedy, 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_another_width_are_a_fault_and_not_kept(bundle: Bundle, kind: str) -> None:
    drafter = load_drafter(bundle, kind)
    narrow = np.zeros((2, 3), np.float32)

    for rows in (Rows(narrow, narrow, narrow), Rows(narrow)):
        with pytest.raises(EngineFault, match=r"reads (hidden states|taps) of shape \(2, \d+\) from the base"):
            drafter.commit([1, 2], rows)
    assert drafter.consumed == 0


@pytest.mark.parametrize(
    ("drafter", "graph"), [(MtpDrafter, "dflash"), (DFlashDrafter, "mtp"), (DFlash2Drafter, "dflash")]
)
def test_a_graph_of_another_kind_is_a_model_error(
    bundle: Bundle, drafter: Callable[[Session, DrafterInfo, int], Drafter], graph: str
) -> None:
    session = Session(bundle.folder / f"{graph}.onnx")

    with pytest.raises(ModelError, match=r"the graph has no \w+, so it is not of the kind that is needed"):
        drafter(session, DrafterInfo(kind="x", name="x"), CONTEXT)


@pytest.mark.parametrize(("k", "warns"), [(BLOCK - 1, False), (BLOCK, True), (20, True)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_block_shorter_than_k_is_told_at_the_start_and_drafts_what_it_can(
    bundle: Bundle, kind: str, k: int, warns: bool
) -> None:
    base = load_base(bundle)
    running = Run(base, load_drafter(bundle, kind), 7, prefill(base, prompt(7)), Options(max_tokens=30, k=k))

    block = kind != "mtp"
    said = [(event.level, event.code, event.message) for event in running.events]
    message = f"k is {k}, but a block of {BLOCK} drafts at most {BLOCK - 1}"
    assert said == ([("warning", "short-block", message)] if block and warns else [])
    first = running.step()
    assert first is not None
    assert len(first.drafts or ()) == (min(k, BLOCK - 1) if block else k)
    for _ in rounds(running):
        pass
    assert tuple(running.emitted) == run(load_base(bundle), None, prompt(7), Options(max_tokens=30)).tokens


@pytest.mark.parametrize("kind", KINDS)
def test_a_drafter_says_what_it_is(bundle: Bundle, kind: str) -> None:
    info = load_drafter(bundle, kind).info

    assert info.kind == kind
    assert info.sha256 == bundle.manifest.drafters[kind].sha256
    assert (info.block_size, info.taps) == ((BLOCK, TAPS) if kind != "mtp" else (None, None))


def _fresh(bundle: Bundle, kind: str, base: OnnxBase) -> Drafter:
    """A drafter that is given all that the base holds at once."""
    drafter = load_drafter(bundle, kind)
    drafter.commit(base.tokens, base.features(0, base.consumed))
    return drafter


def _next_rows(drafter: Drafter) -> np.ndarray:
    """Logits of a whole draft, its picks fixed so that two drafters are compared on the same chain."""
    chain = iter(prompt(BLOCK, seed=8))
    draft = drafter.draft(42, BLOCK - 1, lambda row, position: Pick(next(chain), 0.5, 0.5), 0.0)
    assert draft.logits is not None
    return draft.logits
