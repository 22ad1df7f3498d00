"""The options of a run are declared once for many commands; an engine elsewhere is told only what was given."""

from collections.abc import Callable
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from engine.commands.requests import given, request_of, takes_request
from engine.request import LiveRequest

Seen = list[tuple[LiveRequest, dict[str, Any]]]


@pytest.fixture
def seen() -> Seen:
    return []


@pytest.fixture
def command(seen: Seen) -> typer.Typer:
    app = typer.Typer()

    @app.command()
    @takes_request
    def act(context: typer.Context, request: Callable[[], LiveRequest], loud: bool = False) -> None:
        """Act."""
        assert loud
        made = request()
        seen.append((made, given(context, made)))

    return app


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", {}),
        ("--k 5", {"options": {"k": 5}}),
        ("--chat --system brief", {"chat": True, "system": "brief"}),
        ("--model there --model-file onnx/model_q4.onnx", {"model": "there/onnx/model_q4.onnx"}),
        ("--prompt hello --drafter lookup --threads 2", {"prompt": "hello", "drafter": "lookup", "threads": 2}),
        ("--temperature 0.5", {"options": {"temperature": 0.5, "sampler": "rejection"}}),
        ("--fallback auto", {"auto_bar": True, "options": {"fallback_below": 0.0}}),
        ("--stop a --stop 7 --ignore-stops", {"stop": ("a", "7"), "ignore_model_stops": True}),
    ],
)
def test_only_what_stood_on_the_command_line_is_told(
    command: typer.Typer, seen: Seen, words: str, told: dict[str, Any]
) -> None:
    ran = CliRunner(env={"DFLASH2_K": "6"}).invoke(command, ["--loud", *words.split()])
    assert ran.exit_code == 0, ran.output
    request, found = seen[0]
    assert found == told
    assert request.options.k == (5 if "--k" in words else 6)


def test_without_a_word_the_request_is_the_one_that_is_made_without_a_command_line(
    command: typer.Typer, seen: Seen
) -> None:
    ran = CliRunner().invoke(command, ["--loud"])
    assert ran.exit_code == 0, ran.output
    assert seen[0][0] == request_of()


def test_a_commands_own_options_stand_beside_those_of_a_run(command: typer.Typer) -> None:
    shown = CliRunner().invoke(command, ["--help"]).output
    for word in ("--loud", "--prompt", "--fallback-window", "--candidates"):
        assert word in shown
