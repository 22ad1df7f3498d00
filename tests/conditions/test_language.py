"""The language: what it means, what it refuses and how, what it offers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.conditions import About, BadCondition, Condition
from engine.conditions.completion import complete
from engine.conditions.fields import FIELDS
from engine.conditions.parser import parse
from engine.records import Event, Round, Window
from tests.conditions.made import CONDITIONS, HEADER, rounds
from tests.conditions.naive import answer
from tests.tui.runs import drafted, plain

PIECES = {100: b"def ", 0: b"f", 1: "ä".encode()[:1], 2: "ä".encode()[1:]}


def holds(condition: str, round_: Round) -> bool:
    return Condition(condition).met(round_, About(HEADER, piece=PIECES.get))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("take == 2 and pos > 9", True),
        ("take == 0 or drafted == 4", True),
        ("take == 0 or drafted == 4 and pos < 0", False),
        ("not take == 0 and not (pos < 0)", True),
        ("count == take + 1", True),
        ("2 + 2 * 3 == 8 and 7 % 4 - 1 == 2 and -take == -2", True),
        ("1 / 0 == 1 or 1 % 0 != 1", False),
        ("gap < 0.1", True),
        ("gap > 8", False),
        ("not gap < 0.01", True),
        ("0.1 > gap", True),
        ("token == 100", True),
        ("token != 100", False),
        ("token != 3", True),
        ("draft == 3", True),
        ('form == "one-pass" and form contains "pass"', True),
        ('text contains "def f"', True),
        (r'text == "def f\xE4" or text contains "\x"', False),
        ("ms.verify >= 3 and ms > ms.draft", True),
        ("known gap and not known kv_len", True),
        ("kv_len != 3", False),
        ("zero or all or flip or plain or warning or fault", False),
        ("k == 4 and bar == 2 and window == 3", True),
        ("mean == 3 and tokens == 3 and seconds == 0.004", True),
    ],
)
def test_it_means(condition: str, expected: bool) -> None:
    assert holds(condition, drafted(0, 2, gap=(3.0, 0.05, 2.0, 9.0, 9.0))) is expected


@pytest.mark.parametrize(
    ("condition", "round_"),
    [
        ("zero", drafted(0, 0)),
        ("all", drafted(0, 4)),
        ('plain and reason == "fallback" and off', plain(0)),
        ("flip", drafted(0, 0, fallback=Window(window=(1, 1, 1), mean=1.0, off=True))),
        ("mean == 2.5", drafted(0, 0, fallback=Window(window=(4, 1), mean=2.5))),
        ("not mean > 0", plain(0)),
        ("kv_len == consumed - 1", drafted(0, 0, state={"kv_len": 10})),
        ("not known kv_len", drafted(0, 0, state={"kv_len": "ten"})),
        ("accept_p < 0.2 and not accept_p < 0.05", drafted(0, 1, accept_p=(0.9, 0.1, 0.01, 0.01))),
        ("drafted == 3 and count == 2 and not known gap", Round(index=0, form="one-pass", n_drafts=3, take=1)),
    ],
)
def test_it_holds_for(condition: str, round_: Round) -> None:
    assert holds(condition, round_)


def test_what_was_said_of_a_round_is_asked_for_by_level() -> None:
    about = About(HEADER)
    about.hear([Event(round=1, level="warning"), Event(round=2, level="fault"), Event(round=3), Event(level="fault")])
    found = [[i for i in range(4) if Condition(name).met(drafted(i, 1), about)] for name in ("warning", "fault")]
    assert found == [[1], [2]]


def test_a_finding_is_one_of_the_audit() -> None:
    about = About(HEADER, audited=True)
    good = drafted(0, 2, drafts=(1, 2, 3, 4), targets=(1, 2, 9, 9, 9), emitted=(100, 1, 2), next=9, consumed=13)
    wrong = drafted(1, 1, pos=99, t1=9, drafts=(1, 2, 3, 4), targets=(1, 7, 9, 9, 9), emitted=(9, 1), next=7)
    finding = Condition("finding")
    assert [finding.met(round_, about) for round_ in (good, wrong)] == [False, True]


REFUSED = [
    ("tke == 0", 1, "unknown name tke: did you mean take?"),
    ("pos > 1 and xyzzyxyzzy", 13, "`specstep conditions` lists the names"),
    ("take", 1, "take is a number, where yes or no is needed: compare it, as in take == 0"),
    ("form", 1, 'compare it, as in form == "..."'),
    ("take + 1", 1, "compare it with something"),
    ("flip == 1", 1, "write flip, or not flip"),
    ("form == plain", 9, 'write the text in quotes: "plain"'),
    ("reason == fallback", 11, 'write the text in quotes: "fallback"'),
    ("text contains def", 15, 'write the text in quotes: "def"'),
    ("reason == known", 16, "known asks whether a name has a value"),
    ("take = 0", 6, "write == in place of ="),
    ("flip && all", 6, "write and in place of &&"),
    ("!flip", 1, "write not in place of !"),
    ("1 < take < 3", 10, "one comparison at a time"),
    ('take == "x"', 6, "a number cannot be compared with text"),
    ('form < "x"', 6, "text has no order"),
    ("take contains 1", 6, "contains is for text"),
    ("gap + 1 < 2", 1, "gap has several values"),
    ("gap < target_p", 5, "both sides have several values"),
    ("-form == 1", 2, "only numbers can be computed with"),
    ('text contains "def', 15, 'lacks its closing "'),
    ("(take == 0", 11, "a ) is missing here"),
    ("take == 0)", 10, "this ) closes nothing"),
    ("take == 0 pos > 1", 11, "is missing before pos"),
    ("take == 0 not flip", 11, "and or or is missing before not"),
    ("take >", 7, "breaks off"),
    ("take == 0 hit", 11, "hit stands once, at the end, with a number: hit 3"),
    ("take == 0 every few", 11, "every stands once, at the end, with a number: every 3"),
    ("take > * 2", 8, "is missing before *"),
    ("known 3", 7, "known asks whether a name has a value"),
    ("(flip) == (all)", 1, "write flip, or not flip"),
    ("(flip and all) == 1", 1, "this is yes or no and not compared"),
    ("", 1, "a condition is needed"),
    ("take == 0 ; import os", 11, "';' means nothing here"),
    ("take\x1b[31m == 0", 5, r"'\x1b' means nothing here"),
    ("(" * 60 + "flip" + ")" * 60, 52, "more than 50 levels"),
    ("flip or " * 200 + "flip", 1001, "at most 1000 characters"),
]


@pytest.mark.parametrize(("text", "column", "says"), REFUSED, ids=[text[:24] for text, _, _ in REFUSED])
def test_it_is_refused_where_it_is_wrong_and_told_what_would_be_right(text: str, column: int, says: str) -> None:
    with pytest.raises(BadCondition) as refused:
        Condition(text)
    assert says in str(refused.value)
    assert refused.value.column == column
    assert str(refused.value).endswith(f"(column {column})")
    shown, caret = refused.value.pointer.split("\n")
    assert caret == " " * (column - 1) + "^"
    assert shown.isprintable()


@given(st.text(max_size=60) | st.text("take<=>! and()\"'not.0123\\", max_size=60))
def test_any_text_is_read_or_refused_at_a_column_within_it(text: str) -> None:
    read: Condition | BadCondition
    try:
        read = Condition(text)
    except BadCondition as refused:
        read = refused
    if isinstance(read, BadCondition):
        assert 1 <= read.column <= len(text) + 1
        assert str(read).isprintable()
    else:
        assert isinstance(read.met(drafted(0, 1), About(HEADER)), bool)


@given(st.text(max_size=40) | st.text("take<=>! and()\"'not.0123\\", max_size=40), st.integers(0, 40))
def test_completing_any_text_never_breaks(text: str, cursor: int) -> None:
    offers = complete(text, cursor)
    assert 0 <= offers.start <= min(cursor, len(text))


@given(CONDITIONS, rounds())
def test_the_fast_way_agrees_with_the_slow_one(text: str, round_: Round) -> None:
    fast, slow = About(HEADER, piece=PIECES.get), About(HEADER, piece=PIECES.get)
    slow.take(round_)
    assert Condition(text).met(round_, fast) is answer(parse(text), round_, slow)


@given(CONDITIONS)
def test_what_is_read_is_needed(text: str) -> None:
    condition = Condition(text)
    assert condition.past == any(field.past and field.name in text.split() for field in FIELDS) or "(" in text


@pytest.mark.parametrize(
    ("text", "first", "start"),
    [
        ("", "round", 0),
        ("ta", "take", 0),
        ("take ", "==", 5),
        ("take == 0 ", "and", 10),
        ("take == 0 a", "and", 10),
        ("flip ", "and", 5),
        ("form == ", '"one-pass"', 8),
        ('form == "pl', '"plain"', 8),
        ("known ", "round", 6),
        ("known gap ", "and", 10),
        ("text con", "contains", 5),
        ("ms.v", "ms.verify", 0),
        ("take =", "==", 5),
        ("(take", "take", 1),
    ],
)
def test_it_offers_what_may_follow(text: str, first: str, start: int) -> None:
    offers = complete(text)
    assert offers.start == start
    assert [offer.text for offer in offers.offers][:1] == ([first] if not text.endswith(first) else [])


@given(st.sampled_from(FIELDS), st.integers(1, 4))
def test_every_name_is_offered_for_its_beginning(field: object, size: int) -> None:
    name = getattr(field, "name", "")
    offered = {offer.text for offer in complete(name[:size]).offers}
    assert name in offered or name == name[:size]


def test_names_are_words_of_the_language_once_each_and_explained() -> None:
    names = [field.name for field in FIELDS]
    assert len(set(names)) == len(names)
    for field in FIELDS:
        assert field.help.endswith(".")
        assert set(field.needs) <= set(Round.__struct_fields__)
        assert Condition(f"known {field.name}").needs == set(field.needs)
