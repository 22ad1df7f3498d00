"""Rounds and conditions out of nothing, for properties."""

from hypothesis import strategies as st

from engine.conditions.fields import FIELDS, Field
from engine.conditions.kinds import Kind
from engine.records import BaseInfo, Header, Round, Window

HEADER = Header(
    version=1,
    minor=0,
    base=BaseInfo(name="made", vocab_size=1000),
    options={"k": 4, "fallback_below": 2.0, "fallback_window": 3},
)

_floats = st.floats(0, 2)


def _maybe(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | strategy


@st.composite
def rounds(draw: st.DrawFn, index: int = 0) -> Round:
    """Any round, with any of its keys missing."""
    n = draw(st.integers(0, 4))
    take = draw(st.integers(0, n))
    row = st.lists(_floats, min_size=n + 1, max_size=n + 1).map(tuple)
    ids = st.integers(0, 5)
    return Round(
        index=index,
        form=draw(st.sampled_from(("one-pass", "two-pass", "plain"))),
        reason=draw(st.sampled_from((None, "stop", "zero-draft"))),
        cut=draw(st.sampled_from((None, "stop", "budget"))),
        take=take,
        **{
            "pos": draw(_maybe(st.integers(0, 5))),
            "t1": draw(_maybe(ids)),
            "drafts": draw(_maybe(st.lists(ids, min_size=n, max_size=n).map(tuple))),
            "verified": draw(_maybe(st.integers(take, n))),
            "emitted": draw(_maybe(st.lists(ids, min_size=take + 1, max_size=take + 1).map(tuple))),
            "next": draw(_maybe(ids)),
            "gap": draw(_maybe(row)),
            "draft_p": draw(_maybe(row)),
            "accept_p": draw(_maybe(row)),
            "target_p": draw(_maybe(row)),
            "ms": draw(_maybe(st.dictionaries(st.sampled_from(("draft", "verify", "step")), _floats))),
            "fallback": draw(_maybe(st.builds(Window, mean=_maybe(_floats), off=st.booleans()))),
            "state": draw(_maybe(st.fixed_dictionaries({"kv_len": st.integers(0, 5) | st.text()}))),
        },  # type: ignore[arg-type]
    )


def _one(kind: Kind) -> st.SearchStrategy[Field]:
    return st.sampled_from([field for field in FIELDS if field.kind is kind and not field.many])


_numbers = st.recursive(
    st.integers(0, 5).map(str) | st.sampled_from(("0.5", "1e400", ".25")) | _one(Kind.NUMBER).map(lambda f: f.name),
    lambda inner: (
        st.tuples(inner, st.sampled_from("+-*/%"), inner).map(lambda parts: f"({' '.join(parts)})")
        | inner.map(lambda text: f"-{text}")
    ),
    max_leaves=4,
)
_several = st.sampled_from([field.name for field in FIELDS if field.many])
_relations = st.sampled_from(("==", "!=", "<", "<=", ">", ">="))
_texts = _one(Kind.TEXT).map(lambda field: field.name)
_asked = st.one_of(
    _one(Kind.YES).map(lambda field: field.name),
    st.sampled_from(FIELDS).map(lambda field: f"known {field.name}"),
    st.tuples(_numbers | _several, _relations, _numbers).map(" ".join),
    st.tuples(_numbers, _relations, _several).map(" ".join),
    st.tuples(_texts, st.sampled_from(("==", "!=", "contains")), st.sampled_from(('"stop"', "'pl'", '"plain"'))).map(
        " ".join
    ),
)
CONDITIONS = st.recursive(
    _asked,
    lambda inner: (
        st.tuples(inner, st.sampled_from(("and", "or")), inner).map(" ".join)
        | inner.map(lambda text: f"not ({text})")
        | inner.map(lambda text: f"({text})")
    ),
    max_leaves=6,
)
