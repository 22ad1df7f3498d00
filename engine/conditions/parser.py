"""Reads a condition: precedence climbing over its words, types checked on the way.

From loose to tight: ``or``, ``and``, ``not``, comparisons, ``+ -``, ``* / %``, the sign, ``known``, parentheses.
"""

import difflib
from collections.abc import Callable
from typing import cast

from engine.conditions.fields import BY_NAME, FIELDS, Field
from engine.conditions.kinds import BadCondition, Kind
from engine.conditions.tree import Arithmetic, Both, Compare, Comparison, Computed, Constant, Known, Named, Node, Not
from engine.conditions.tree import many as is_many
from engine.conditions.words import COMPARISONS, KEYWORDS, Sort, Word, words

DEEPEST = 50
"""Parentheses, signs and ``not`` within one another."""
Part = Callable[[], Node]
_SUMS, _PRODUCTS = ("+", "-"), ("*", "/", "%")


def parse(expression: str) -> Node:
    """The tree of a condition.

    Raises:
        BadCondition: it cannot be read, or is not a question of yes or no.
    """
    if not expression.strip():
        raise BadCondition("a condition is needed, as in take == 0", 1, expression)
    return _Parser(expression).whole()


class _Parser:
    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._words = words(expression)
        self._place = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._answer(self._either, self._peek)
        word = self._peek
        if word.sort is not Sort.END:
            raise self._wrong(self._unexpected(word), word)
        return node

    @property
    def _peek(self) -> Word:
        return self._words[self._place]

    def _next(self) -> Word:
        word = self._peek
        self._place += word.sort is not Sort.END
        return word

    def _at(self, *operators: str) -> bool:
        return self._peek.sort is Sort.OPERATOR and self._peek.text in operators

    def _either(self) -> Node:
        return self._joined("or", self._all)

    def _all(self) -> Node:
        return self._joined("and", self._negated)

    def _joined(self, operator: str, part: Part) -> Node:
        first = self._peek
        node = part()
        while self._at(operator):
            self._check_answer(node, first)
            self._next()
            right = self._answer(part, self._peek)
            node = Both("or" if operator == "or" else "and", node, right)
        return node

    def _negated(self) -> Node:
        if not self._at("not"):
            return self._comparison()
        self._next()
        with_ = self._peek
        return self._deeper(lambda: Not(self._answer(self._negated, with_)))

    def _answer(self, part: Part, first: Word) -> Node:
        node = part()
        self._check_answer(node, first)
        return node

    def _comparison(self) -> Node:
        first = self._peek
        left = self._sum()
        if not self._at(*COMPARISONS, "contains"):
            return left
        operator = self._next()
        second = self._peek
        if left.kind is Kind.TEXT and second.sort is Sort.NAME and second.text not in BY_NAME:
            raise self._wrong(f'write the text in quotes: "{_short(second)}"', second)
        right = self._sum()
        self._check_comparable(operator, (left, first), (right, second))
        if self._at(*COMPARISONS, "contains"):
            raise self._wrong("one comparison at a time: join two with and", self._peek)
        return Compare(cast(Comparison, operator.text), left, right)

    def _sum(self) -> Node:
        return self._computed(_SUMS, self._product)

    def _product(self) -> Node:
        return self._computed(_PRODUCTS, self._signed)

    def _computed(self, operators: tuple[str, ...], part: Part) -> Node:
        first = self._peek
        node = part()
        while self._at(*operators):
            self._check_number(node, first)
            operator = self._next()
            second = self._peek
            right = part()
            self._check_number(right, second)
            node = Computed(cast(Arithmetic, operator.text), node, right)
        return node

    def _signed(self) -> Node:
        if not self._at("-"):
            return self._single()
        self._next()
        first = self._peek
        inner = self._deeper(self._signed)
        self._check_number(inner, first)
        if isinstance(inner, Constant) and not isinstance(inner.value, str):
            return Constant(-inner.value)
        return Computed("-", Constant(0), inner)

    def _single(self) -> Node:
        word = self._next()
        match word:
            case Word(Sort.NUMBER, text, _):
                return Constant(float(text))
            case Word(Sort.TEXT, text, _):
                return Constant(text)
            case Word(Sort.NAME):
                return Named(self._field(word))
            case Word(Sort.OPERATOR, "known"):
                name = self._next()
                if name.sort is not Sort.NAME:
                    raise self._wrong("known asks whether a name has a value, as in known gap", name)
                return Known(self._field(name))
            case Word(Sort.OPERATOR, "("):
                inner = self._deeper(self._either)
                if not self._at(")"):
                    raise self._wrong("a ) is missing here", self._peek)
                self._next()
                return inner
            case Word(Sort.END):
                raise self._wrong("the condition breaks off: a name, a number or a text is missing", word)
            case _:
                raise self._wrong(f"a name, a number or a text is missing before {word.text}", word)

    def _deeper(self, part: Part) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._wrong(f"more than {DEEPEST} levels within one another", self._peek)
        node = part()
        self._depth -= 1
        return node

    def _field(self, word: Word) -> Field:
        field = BY_NAME.get(word.text)
        if field is not None:
            return field
        quoted = next((one.name for one in FIELDS if word.text in one.values), None)
        near = difflib.get_close_matches(word.text.lower(), (*BY_NAME, *KEYWORDS), 1, 0.5)
        shown = word.text if len(word.text) <= 40 else word.text[:40] + "..."
        hint = "`specstep conditions` lists the names"
        if quoted is not None:
            hint = f'did you mean the text "{word.text}", as in {quoted} == "{word.text}"?'
        elif near:
            hint = f"did you mean {near[0]}?"
        raise self._wrong(f"unknown name {shown}: {hint}", word)

    def _check_answer(self, node: Node, first: Word) -> None:
        if node.kind is not Kind.YES:
            what = first.text if isinstance(node, Named) else "this"
            example = f'{what} == "..."' if node.kind is Kind.TEXT else f"{what} == 0"
            hint = f"compare it, as in {example}" if isinstance(node, Named) else "compare it with something"
            raise self._wrong(f"{what} is {node.kind}, where yes or no is needed: {hint}", first)

    def _check_number(self, node: Node, first: Word) -> None:
        if node.kind is not Kind.NUMBER:
            raise self._wrong(f"this is {node.kind}: only numbers can be computed with", first)
        if is_many(node):
            raise self._wrong(f"{first.text} has several values: compare it, it cannot be computed with", first)

    def _check_comparable(self, operator: Word, left: tuple[Node, Word], right: tuple[Node, Word]) -> None:
        kinds = left[0].kind, right[0].kind
        for node, word in (left, right):
            if node.kind is Kind.YES:
                self._refuse_flag(node, word, left[0], right[0])
        if kinds[0] is not kinds[1]:
            raise self._wrong(f"{kinds[0]} cannot be compared with {kinds[1]}", operator)
        if operator.text == "contains" and kinds[0] is not Kind.TEXT:
            raise self._wrong("contains is for text: write ==, or a comparison", operator)
        if kinds[0] is Kind.TEXT and operator.text not in ("==", "!=", "contains"):
            raise self._wrong("text has no order: use ==, != or contains", operator)
        if is_many(left[0]) and is_many(right[0]):
            raise self._wrong("both sides have several values: compare one of them with a number", operator)

    def _refuse_flag(self, node: Node, word: Word, left: Node, right: Node) -> None:
        if isinstance(node, Named):
            name = node.field.name
            if any(isinstance(side, Named) and name in side.field.values for side in (left, right)):
                raise self._wrong(f'write the text in quotes: "{name}"', word)
            raise self._wrong(f"{name} is yes or no and not compared: write {name}, or not {name}", word)
        raise self._wrong("this is yes or no and not compared: join with and, or, not", word)

    def _unexpected(self, word: Word) -> str:
        if word.text == ")":
            return "this ) closes nothing"
        if word.sort is Sort.OPERATOR and word.text in ("not", "known", "("):
            return f"and or or is missing before {word.text}"
        if word.text in ("hit", "every"):
            return f"{word.text} stands once, at the end, with a number: {word.text} 3"
        return f"and, or or a comparison is missing before {_short(word)}"

    def _wrong(self, reason: str, word: Word) -> BadCondition:
        return BadCondition(reason, word.at + 1, self._expression)


def _short(word: Word) -> str:
    text = "".join(c if c.isprintable() else "?" for c in word.text[:40])
    return f'"{text}"' if word.sort is Sort.TEXT else text
