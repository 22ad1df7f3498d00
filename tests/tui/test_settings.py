"""Keys, the theme and the signs as a person sets them in a file, and what is said of a file that will not do."""

from pathlib import Path

import pytest
from textual.widgets import Input

from engine.errors import Refused
from tests.tui.runs import finished, live, sunk
from tests.tui.screens import running
from tui.keys import KEYS, Key, shown
from tui.marks import UNICODE
from tui.moment import Moment
from tui.screens.help import lines
from tui.screens.palette import PaletteScreen
from tui.screens.prompt import PromptScreen
from tui.settings import EXAMPLE, Settings, read, remapped


def written(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_no_file_is_no_settings(tmp_path: Path) -> None:
    assert read(tmp_path / "config.toml") == Settings()


def test_the_example_is_read(tmp_path: Path) -> None:
    settings = read(written(tmp_path, EXAMPLE))

    assert (settings.theme, settings.ascii, settings.mouse) == ("specstep-light", False, True)
    assert {key.id: key.keys for key in settings.keys if key not in KEYS} == {
        "round.next": ("j", "right"),
        "run.play": ("f5",),
    }


def test_an_id_may_be_quoted_or_not(tmp_path: Path) -> None:
    quoted = read(written(tmp_path, '[keys]\n"round.next" = "j"\n'))
    bare = read(written(tmp_path, '[keys]\nround.next = "j"\n'))

    assert quoted == bare
    assert quoted != Settings()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('colour = "red"', "colour is no setting: use one of theme, ascii, mouse, keys"),
        ('them = "ansi-dark"', "did you mean theme?"),
        ('theme = "red"', "theme is 'red': use one of specstep-dark, specstep-light, ansi-dark, ansi-light"),
        ('ascii = "yes"', "ascii is 'yes': use true or false"),
        ("keys = 3", "keys is 3: make it a table"),
        ('[keys]\n"round.nxt" = "j"', "keys.round.nxt is no key's id (did you mean round.next?)"),
        ('[keys]\nround.next = "fn"', "keys.round.next is 'fn', no key"),
        ('[keys]\nround.next = "hyper+j"', "keys.round.next is 'hyper+j', no key"),
        ("[keys]\nround.next = 3", "keys.round.next is 3: give a key"),
        ("[keys]\nround.next = []", "keys.round.next is []: give a key"),
        ('[keys]\nround.next = "p"', "the key p would do both round.next and round.previous"),
        ('[keys]\nround.next = "7"', "the key 7 would do both"),
        ('[keys]\nround.next = "ctrl+q"', "ctrl+q', which quits everywhere"),
        ("theme = ", "is no TOML: "),
    ],
)
def test_what_cannot_be_obeyed_is_said_in_one_sentence_with_the_file(tmp_path: Path, text: str, says: str) -> None:
    path = written(tmp_path, text)

    with pytest.raises(Refused) as refused:
        read(path)

    assert str(refused.value).startswith(f"{path}: ")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "name", "sign"),
    [
        ("j", "j", "j"),
        ("J", "J", "J"),
        ("?", "question_mark", "?"),
        (",", "comma", ","),
        ("+", "plus", "+"),
        ("@", "at", "@"),
        ("esc", "escape", "esc"),
        ("ctrl+t", "ctrl+t", "ctrl+t"),
        ("full_stop", "full_stop", "."),
        ("f12", "f12", "F12"),
    ],
)
def test_a_key_is_written_as_it_is_typed_or_by_its_name(text: str, name: str, sign: str) -> None:
    away = {key.id: f"shift+f{i}" for i, key in enumerate((key for key in KEYS if name in key.keys), 1)}
    keys = remapped({**away, "round.next": text})

    assert next(key.keys for key in keys if key.id == "round.next") == (name,)
    assert shown("round.next", keys) == sign


async def test_remapped_keys_act_and_stand_in_footer_help_and_status() -> None:
    keys = remapped({"round.next": ["j", "right"], "round.previous": "k", "help": "f2"})
    async with running(finished(live()), (80, 24), keys=keys) as screen:
        assert "j next" in screen.lines[-2]
        assert "F2 explains" in screen.lines[-2]
        assert screen.lines[-1].startswith(" j next  s into")
        await screen.press("j", "right", "n", "p")
        assert screen.lines[-1].startswith(" j next  k back")
        assert screen.session.moment == Moment(2)
        await screen.press("k", "f2")
        assert screen.session.moment == Moment(1)
        assert "What you are looking at" in screen.text
        await screen.press("end")
        assert "  F2        This page." in screen.text


async def test_two_keys_can_change_places() -> None:
    keys = remapped({"round.next": "p", "round.previous": "n"})
    async with running(finished(live()), keys=keys) as screen:
        await screen.press("p", "p", "p", "n")
        assert screen.session.moment == Moment(2)


async def test_the_palette_finds_an_action_by_words_and_does_it() -> None:
    async with running(sunk(), (80, 24)) as screen:
        await screen.press("colon")
        assert "type words of what you want to do" in screen.text
        await screen.press(*"next even")
        assert "Next event" in screen.lines[3]
        await screen.press("enter")
        assert screen.session.moment == Moment(1)

        await screen.press("ctrl+p", *"go tq", "backspace", "o", "enter")
        assert isinstance(screen.app.screen, PromptScreen)
        screen.app.screen.query_one(Input).value = "flip"
        await screen.press("enter")
        assert screen.session.moment == Moment(3)

        await screen.press("colon", *"xyzzy")
        assert "No action has these words" in screen.text
        await screen.press("enter", "escape")
        assert screen.session.moment == Moment(3)


async def test_every_action_is_reached_by_a_key_the_palette_and_the_help() -> None:
    actions = {key.action for key in KEYS if key.action} - {"palette"}
    async with running(sunk(), (120, 110)) as screen:
        bound = {binding.action for _, binding in screen.main._bindings}
        assert actions <= bound
        await screen.press("colon")
        listed = "".join(screen.lines)
        for key in KEYS:
            assert not key.action or key.id == "palette" or key.help[:60] in listed
    helped = [" ".join("".join(span.text for span in line).split()) for line in lines(UNICODE, 200)]
    for key in KEYS:
        assert f"{key.shown} {key.help}" in helped


@pytest.mark.parametrize(
    "key", [key for key in KEYS if key.action and key.id not in ("quit", "palette")], ids=lambda key: key.id
)
async def test_every_action_is_started_by_the_palette(
    key: Key, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    started: list[str] = []
    async with running(finished(live()), (120, 40)) as screen:
        run_action = screen.main.run_action

        async def noted(action: str) -> None:
            started.append(action)
            await run_action(action)

        monkeypatch.setattr(screen.main, "run_action", noted)
        screen.main.action_palette()
        await screen.settle()
        palette = screen.app.screen
        assert isinstance(palette, PaletteScreen)
        palette.go([each.id for each in palette._found].index(key.id))
        await screen.press("enter")
        assert started == [key.action]
        assert screen.app.is_running


async def test_a_key_of_ones_own_is_named_wherever_keys_are() -> None:
    own = remapped({"round.next": "j", "tour": "f9", "search": "x", "run.interrupt": "f6", "search.next": "f4"})
    async with running(live(), (80, 24), keys=own) as screen:
        assert "j      makes one round" in screen.text
        assert "F9     is a guided tour" in screen.text
        assert "j next" in screen.lines[-1]
        assert "at the start: j makes a round" in screen.lines[-2]
        await screen.press("2")
        assert "j p s e go so many times" in screen.lines[-2]
        await screen.press("f6", "f4")
        assert "nothing is looked for: x asks" in screen.lines[-2]
        helped = ["".join(span.text for span in line) for line in lines(UNICODE, 80, own)]
        assert any(line.split() == ["j", "Next", "round;", "a", "live", "run", "makes", "it."] for line in helped)
        await screen.press("colon", *"next")
        assert screen.lines[3].startswith("→j ")
        await screen.press("escape", "f9")
        while screen.session.source.live:
            await screen.settle()
        assert "j on" in screen.text


async def test_the_palette_shows_panes_too() -> None:
    async with running(sunk(), (80, 24)) as screen:
        await screen.press("colon", *"cost", "space", *"pane", "enter")
        assert screen.main.active == 4


def test_the_help_says_how_to_close_it_where_there_is_room() -> None:
    for width, hint in ((70, "esc closes this, up and down scroll it"), (45, "esc closes this"), (30, "looking at")):
        first = "".join(span.text for span in lines(UNICODE, width)[0])
        assert first.endswith(hint)
        assert len(first) <= width
