"""Acceptance that breaks down as a fault breaks it is found; acceptance that changes with the text is not."""

import itertools
import random
from collections.abc import Iterator

import pytest

from engine.records import BaseInfo, DrafterInfo, Header, Round
from engine.trace.audit import Audit, Finding, audit
from engine.trace.audit.significance import Share, Stratum, at_most, fisher, mantel_haenszel
from tests.trace import broken
from tests.trace.broken import rounds_of, run
from tests.trace.clean import ToyEngine

FAULTS: list[tuple[type[ToyEngine], dict[str, object], str]] = [
    (broken.WrongAfterSome, {"ease": [0.75], "k": 3, "max_tokens": 400}, "after a partly accepted round"),
    (broken.StaleHidden, {"ease": [0.93], "k": 3, "max_tokens": 900}, "after a round with a rejection"),
    (broken.DeadPosition, {"ease": [0.8], "k": 5, "max_tokens": 500}, "draft 3 is accepted 0 times"),
    (broken.ShortWindow, {"ease": [0.85], "k": 7, "max_tokens": 900}, "draft 4 is accepted"),
    (broken.Forgets, {"ease": [0.8], "k": 3, "max_tokens": 800}, "draft 1 is accepted"),
]


@pytest.mark.parametrize("seed", [1, 3])
@pytest.mark.parametrize(("engine", "options", "says"), FAULTS, ids=[case[0].__name__ for case in FAULTS])
def test_a_breakdown_is_a17(engine: type[ToyEngine], options: dict[str, object], says: str, seed: int) -> None:
    assert audit(run(ToyEngine, seed=seed, **options)) == []
    findings = audit(run(engine, seed=seed, **options))
    assert {finding.rule for finding in findings} == {"A17"}
    assert findings[0].message.startswith(says)


@pytest.mark.parametrize("engine", [broken.ShortWindow, broken.Forgets])
def test_a_breakdown_with_the_context_is_placed_where_it_begins(engine: type[ToyEngine]) -> None:
    records = run(engine, ease=[0.85], k=6, max_tokens=1000)
    index = audit(records)[0].round
    assert index is not None
    assert 590 <= (rounds_of(records)[index].pos or 0) <= 680


@pytest.mark.parametrize("kind", ["lookup", "scripted"])
def test_a_drafter_without_a_context_may_be_right_no_more(kind: str) -> None:
    options: dict[str, object] = {"ease": [0.8], "k": 3, "max_tokens": 800}
    assert audit(run(broken.Forgets, kind=kind, **options)) == []


@pytest.mark.parametrize("levels", [(0.95, 0.1), (0.8, 0.3), (0.95, 0.5, 0.1), (0.6, 0.05)])
@pytest.mark.parametrize("length", [3, 12, 60])
@pytest.mark.parametrize("k", [1, 3, 7])
def test_easy_and_hard_text_may_alternate(levels: tuple[float, ...], length: int, k: int) -> None:
    chances = random.Random(f"{levels} {length} {k}")

    def rates() -> Iterator[float]:
        while True:
            yield from [chances.choice(levels)] * (1 + int(chances.expovariate(1 / length)))

    text = list(itertools.islice(rates(), 3000))
    takes, place = list[int](), 0
    while place < len(text):
        takes.append(next((j for j in range(k) if chances.random() >= text[min(place + j, 2999)]), k))
        place += takes[-1] + 1
    assert findings_of(takes, k) == []


@pytest.mark.parametrize("script", [(1,), (3, 1, 0), (7, 2, 0, 5, 1), (0, 7), (7, 7, 4)])
def test_a_script_of_takes_is_no_evidence(script: tuple[int, ...]) -> None:
    assert findings_of(list(itertools.islice(itertools.cycle(script), 900)), 7) == []


def test_a_script_that_ends_on_one_take_forever_is_no_evidence() -> None:
    assert findings_of([7, 3, 0, 1, 5, *[2] * 800], 7) == []


def test_a_loop_of_the_text_counts_once() -> None:
    """In every turn the same draft is rejected, after which the next one is, too: one observation, not fifty."""
    chances = random.Random(5)
    turn = [chances.choice([0, 1, 3]) for _ in range(40)]
    turn = [take for before, take in itertools.pairwise(turn) if not (before == 1 and take)]
    assert findings_of(turn * 50, 3, period=len(turn)) == []


def findings_of(takes: list[int], k: int, period: int | None = None) -> list[Finding]:
    """Of rounds of which only the outcome is known; the text repeats itself after ``period`` rounds."""
    auditor = Audit(
        Header(
            version=1,
            minor=0,
            base=BaseInfo(name="toy", vocab_size=10**6),
            drafter=DrafterInfo(kind="mtp", name="toy"),
        )
    )
    for index, take in enumerate(takes):
        start = 20 * (index if period is None else index % period)
        auditor.feed(
            Round(index=index, form="one-pass", t1=start, drafts=tuple(range(start + 1, start + 1 + k)), take=take)
        )
    return [finding for finding in auditor.finish() if finding.rule != "end-missing"]


def test_a_take_beyond_all_drafts_is_no_position_to_look_at() -> None:
    auditor, rng = Audit(Header(version=1, minor=0, base=BaseInfo(name="base"))), random.Random(1)
    for index in range(300):
        take, verified = rng.choice((0, 1, 2**31 - 1)), rng.choice((2, 2**31 - 1))
        drafts = (rng.randrange(9), 2)
        auditor.feed(Round(index=index, form="one-pass", t1=index, drafts=drafts, take=take, verified=verified))
    assert not [finding for finding in auditor.finish() if finding.rule == "A17"]


def test_fishers_test_of_the_lady_tasting_tea() -> None:
    assert fisher(Share(3, 4), Share(1, 4)) == pytest.approx(17 / 70)
    assert fisher(Share(4, 4), Share(0, 4)) == pytest.approx(1 / 70)
    assert fisher(Share(0, 4), Share(4, 4)) == pytest.approx(1.0)


def test_the_binomial_tail() -> None:
    assert at_most(Share(0, 10), 0.5) == pytest.approx(2**-10)
    assert at_most(Share(1, 3), 0.25) == pytest.approx(0.75**3 + 3 * 0.25 * 0.75**2)


def test_strata_that_differ_from_each_other_are_no_evidence_within() -> None:
    easy = Stratum(Share(9, 10), Share(9, 10))
    hard = Stratum(Share(1, 10), Share(1, 10))
    lonely = Stratum(Share(8, 8), Share(0, 0))
    assert mantel_haenszel([easy, hard, lonely]) < 0
    assert mantel_haenszel([]) == 0.0


def test_strata_that_all_say_the_same_add_up() -> None:
    one = mantel_haenszel([Stratum(Share(4, 4), Share(2, 8))])
    many = mantel_haenszel([Stratum(Share(4, 4), Share(2, 8))] * 9)
    assert one == pytest.approx((4 - 2 - 0.5) / (4 * 8 * 6 * 6 / (144 * 11)) ** 0.5)
    assert many > 3 * one
