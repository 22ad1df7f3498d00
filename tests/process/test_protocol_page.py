"""What recordings/PROTOCOL.md says is what the engine does."""

import re
from pathlib import Path

import msgspec

from engine.conditions.page import WHERE as CONDITIONS_PAGE
from engine.process.protocol import COMMANDS, PROTOCOL, Done, Hello, Quit, Step
from engine.process.server import FAULT_CODES
from engine.process.until import END
from engine.provider import Provider
from engine.request import LiveRequest
from tests.process.engines import Reply, served

PAGE = (Path(__file__).parents[2] / "recordings" / "PROTOCOL.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    return re.split(r"^## ", PAGE, flags=re.MULTILINE)[
        [*re.findall(r"^## (.*)", PAGE, re.MULTILINE)].index(heading) + 1
    ]


def test_the_page_has_every_command_condition_and_answer() -> None:
    commands, answers = section("What goes in"), section("What comes out")
    assert re.findall(r"^\| `([a-z]+)` \|", commands, re.MULTILINE) == list(COMMANDS)
    assert all(f"`{name}`" in commands for name in (END, CONDITIONS_PAGE, "flip", "zero"))
    assert all(f"`{key}`" in answers for key in (*Hello.__struct_fields__, *Done.__struct_fields__))
    assert all(f"`{code}`" in answers for code in FAULT_CODES.values() if code != "fault")
    assert f"version {PROTOCOL}" in PAGE.splitlines()[0]


def test_its_example_is_what_comes() -> None:
    shown = re.findall(r'^\{"type": "([a-z]+)"', section("An example"), re.MULTILINE)
    with served() as engine:
        replies = [Reply(engine.opening, Done(why="opened")), engine.ask(Step(rounds=2))]
        engine.send(msgspec.msgpack.encode({"command": "dance", "id": 2}))
        replies += [engine.upto(2), engine.ask(Quit())]
    sent = [str(record.__struct_config__.tag) for reply in replies for record in (*reply.records, reply.done)]
    useful = [name for name in ("hello", *sent) if name != "tokens"]
    assert useful == [name for name in shown if name != "tokens"]


def test_it_names_what_a_run_is_opened_with() -> None:
    (row,) = re.findall(r"^\| `open` \|.*$", section("What goes in"), re.MULTILINE)
    assert {name for name in LiveRequest.__struct_fields__ if f"`{name}`" not in row} == {"fault"}
    assert all(f"`{name}`" in row for name in Provider.__struct_fields__)
