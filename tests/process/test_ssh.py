"""An engine on another machine: over ssh, to an sshd of our own on the loopback where there is one to be had."""

import getpass
import os
import pwd
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.process.launch import elsewhere
from engine.process.remote import RemoteRun
from tests.process.engines import ROOT, TIMEOUT, builtins, finished, gone, in_process, timeless

CONFIG = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PidFile none
"""
QUIET = "-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[str]:
    """A command that logs in on this machine, up to the command to run there."""
    server = shutil.which("sshd", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin")))
    if server is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        pytest.skip("there is no sshd, ssh or ssh-keygen")
    if os.geteuid() == 0 and not _has_user("sshd"):
        pytest.skip("an sshd of root needs a user sshd")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "config").write_text(CONFIG.format(port=port, folder=tmp_path))
    with subprocess.Popen([server, "-D", "-e", "-f", tmp_path / "config"], stderr=subprocess.PIPE) as daemon:
        assert daemon.stderr is not None
        if b"Server listening" not in daemon.stderr.readline():
            daemon.kill()
            pytest.skip("sshd does not start here")
        yield f"ssh -F none {QUIET} -i {tmp_path}/user -p {port} {getpass.getuser()}@127.0.0.1"
        daemon.terminate()


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def test_an_engine_over_ssh_makes_the_run_and_ends_with_it(ssh: str, tmp_path: Path) -> None:
    engine = f"echo $$ > {tmp_path}/pid; cd /; exec env PYTHONPATH={ROOT} {sys.executable} -m engine engine --wait"
    run = RemoteRun(elsewhere(f"{ssh} {shlex.quote(engine)}", builtins()), timeout=TIMEOUT).open()
    first = int((tmp_path / "pid").read_text())
    made = [round_ for _ in range(5) if (round_ := run.step())]
    os.kill(first, 9)
    assert run.step() is None
    assert "the engine ended with status" in run.events[-1].message
    run.rewind(made)
    made += finished(run)
    assert [round_.emitted for round_ in made][:5] == [round_.emitted for round_ in finished(in_process())][:5]
    assert timeless(made[:5]) == timeless(finished(in_process())[:5])
    second = int((tmp_path / "pid").read_text())
    run.close()
    assert gone(second)
