"""The page about the language, made of the list of names: ``python -m engine.conditions.page`` writes it."""

from pathlib import Path

from engine.conditions.fields import FIELDS
from engine.conditions.kinds import Kind

WHERE = "recordings/CONDITIONS.md"
EXAMPLES = (
    ("take == 0 and pos > 1000", "nothing was confirmed, far into the context"),
    ("mean < bar", "the rolling mean is under the bar"),
    ("gap < 0.1", "one of the decisions of the round was a near-tie"),
    ("ms.verify > 20", "the base's pass took more than 20 ms"),
    ("take < drafted and k - drafted > 2", "a short draft, and not all of it right"),
    ('text contains "def " or token == 262', "what was emitted"),
    ("flip", "drafting was given up"),
    ("known kv_len and kv_len != consumed", "the cache does not hold what it should"),
)
RULES = (
    "A condition is a question about one round that is answered with yes or no. It is made of names, numbers, text in "
    'quotes (`"..."` or `\'...\'`, with `\\n`, `\\t` and `\\"`), and from loose to tight of `or`, `and`, `not`, the '
    "comparisons `==` `!=` `<` `<=` `>` `>=` (and `contains` for text), `+` `-`, `*` `/` `%`, the sign, parentheses.",
    "Types are checked before anything runs: a number is compared with a number, text with text, and a name that is "
    "yes or no stands by itself (`flip`, `not flip`).",
    "What a record does not hold is unknown, as the gap is in a trace imported from a log: every comparison with it is "
    "false, `!=` too, and what is computed from it, or divided by 0, is unknown as well. So `not gap < 0.1` holds "
    "where there is no gap; `known gap and not gap < 0.1` does not.",
    "A name with several values meets a comparison if one of them does, and `!=` if none is equal.",
    "After the condition of a breakpoint, of `--until` and of `--where` may stand `hit 3`, only the third round that "
    "meets it, or `every 10`, each tenth.",
)


def lines() -> list[str]:
    """The page."""
    text = ["# Conditions", "", "Generated from `engine/conditions/fields.py`; `specstep conditions` prints it.", ""]
    text += [
        "Breakpoints on the screen, `specstep record --until`, `specstep show --where` and the engine's command `run` "
        "(`until`) take the same conditions:",
        "",
        "| condition | stops at a round where |",
        "|---|---|",
        *(f"| `{condition}` | {meaning} |" for condition, meaning in EXAMPLES),
        "",
    ]
    for rule in RULES:
        text += [rule, ""]
    for group in dict.fromkeys(field.group for field in FIELDS):
        text += [f"## {group}", "", "| name | is | |", "|---|---|---|"]
        for field in FIELDS:
            if field.group == group:
                kind = (
                    "numbers" if field.many else "yes/no" if field.kind is Kind.YES else field.kind.removeprefix("a ")
                )
                usual = ": " + ", ".join(f'`"{value}"`' for value in field.values) if field.values else ""
                text.append(f"| `{field.name}` | {kind} | {field.help.rstrip('.')}{usual}. |")
        text.append("")
    return text[:-1]


if __name__ == "__main__":
    Path(WHERE).write_text("\n".join(lines()) + "\n", encoding="utf-8")
