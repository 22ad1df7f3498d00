"""The one list of keys, and what is made of it."""

from pathlib import Path

import pytest
from textual.actions import parse
from textual.theme import BUILTIN_THEMES

from tui.features.all import KEYED, TOLD, keyed
from tui.features.feature import Feature
from tui.keys import KEYS, bound, footer, footer_width, groups, markdown
from tui.screens.main import MainScreen
from tui.settings import THEMES
from tui.themes import DARK, LIGHT

README = Path(__file__).parents[2] / "README.md"


def test_every_binding_has_an_id_and_a_key_of_its_own() -> None:
    keys = [key for binding in bound() for key in binding.keys.split(",")]

    assert len({binding.id for binding in bound()}) == len(bound())
    assert len(set(keys)) == len(keys)


def test_no_key_needs_alt_a_modified_enter_or_a_bracket() -> None:
    keys = {key for binding in bound() for key in binding.keys.split(",")}

    assert not {key for key in keys if "alt" in key or "bracket" in key or key.endswith("+enter")}


def test_every_action_is_one_of_the_screen_or_of_a_feature() -> None:
    features = {feature.name: feature for feature in (*TOLD, *map(keyed, KEYED))}
    for binding in bound():
        _, name, arguments = parse(binding.action)
        assert callable(getattr(MainScreen, f"action_{name}"))
        if name == "do":
            feature, _, method = str(arguments[0]).partition(".")
            assert callable(getattr(features[feature], method))


def test_every_feature_has_a_name_of_its_own() -> None:
    assert len({*(feature.name for feature in TOLD), *KEYED}) == len(TOLD) + len(KEYED)
    assert [keyed(name).name for name in KEYED] == list(KEYED)


def test_a_feature_that_is_told_of_the_run_is_there_from_the_start_and_no_other() -> None:
    hooks = {name for name, value in vars(Feature).items() if callable(value) and not name.startswith("_")}
    assert {"opened", "grew", "changed", "escaped"} <= hooks
    assert [feature.name for feature in TOLD if not hooks & vars(feature).keys()] == []
    assert [name for name in KEYED if (hooks | {"__init__"}) & vars(keyed(name)).keys()] == []


@pytest.mark.parametrize("playing", [False, True])
@pytest.mark.parametrize("width", [80, 60, 40])
def test_the_footer_fits_and_always_holds_help_and_quit(width: int, playing: bool) -> None:
    hints = footer(width, playing=playing)

    assert footer_width(hints) <= width
    assert len(hints) <= 7
    assert {"?", "q"} <= {hint.shown for hint in hints}
    assert hints[0].shown == ("space" if playing else "n")


def test_the_footer_leaves_out_what_would_do_nothing() -> None:
    def told(*, begun: bool = True, breaks: bool = False) -> list[str]:
        return [hint.shown for hint in footer(80, playing=False, begun=begun, breaks=breaks)]

    assert told(begun=False) == ["n", "s", "space", "e", "b", "?", "q"]
    assert told() == ["n", "p", "s", "space", "e", "?", "q"]
    assert told(breaks=True) == ["n", "p", "s", "space", "c", "?", "q"]


def test_the_footer_shows_more_where_there_is_room() -> None:
    assert len(footer(80, playing=False)) == 7
    assert len(footer(40, playing=False)) < 7


def test_every_key_is_in_the_help_and_in_the_table() -> None:
    assert [key for keys in groups().values() for key in keys] == sorted(
        KEYS, key=lambda key: [*groups()].index(key.group)
    )
    for key in KEYS:
        assert key.help in markdown()


def test_the_readme_has_this_table() -> None:
    if "| Key |" not in README.read_text(encoding="utf-8"):
        pytest.skip("the README has no table of keys")
    assert markdown() in README.read_text(encoding="utf-8")


def test_the_command_line_offers_the_themes_there_are() -> None:
    assert set(THEMES) - set(BUILTIN_THEMES) == {DARK.name, LIGHT.name}
