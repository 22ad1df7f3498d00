"""The screen in a browser: only for this machine, and each visitor's screen is started as it was told."""

import shlex
import sys

import pytest

from engine.errors import Refused
from tui.commands.serve import command_for, is_loopback, serve


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost"])
def test_these_addresses_are_for_this_machine_only(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "box.example"])
def test_these_are_not(host: str) -> None:
    assert not is_loopback(host)


def test_what_a_visitor_is_shown_is_started_without_a_shell_in_between() -> None:
    words = shlex.split(command_for(["my run; rm.msgpack", "--ascii"]))
    assert words[0] == sys.executable
    assert words[-2:] == ["my run; rm.msgpack", "--ascii"]


def test_without_the_extra_it_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    with pytest.raises(Refused, match=r"pip install 'specstep\[serve\]'"):
        serve()
