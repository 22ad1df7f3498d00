"""A model of one's own in an engine that is a process of its own, as the screen runs it."""

from pathlib import Path

import msgspec
import pytest

from engine.errors import ModelError
from engine.options import Options
from engine.process.launch import local
from engine.process.remote import RemoteRun
from engine.request import LiveRequest
from tests.folders.tiny_folder import Make, genai, optimum


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return genai(tmp_path_factory.mktemp("own") / "tiny", Make(genai=True, hidden=True))


def request(model: Path, **changes: object) -> dict[str, object]:
    options = Options(max_tokens=20, k=4, plain_width=2)
    made = LiveRequest(prompt="ab ab ab", options=options, model=str(model), ignore_model_stops=True)
    return {**msgspec.to_builtins(made), **changes}


def test_the_header_says_what_it_is_and_a_fork_takes_a_draft_model(folder: Path, tmp_path: Path) -> None:
    other = optimum(tmp_path / "other")
    run = RemoteRun(local(request(folder, chat=True))).open()
    try:
        model = run.header.run["model"]
        assert (model["layout"], model["can"]["hidden"]) == ("onnxruntime-genai", 32)
        assert run.header.base.name == "tiny"
        assert run.header.drafter is not None
        assert run.header.drafter.kind == "lookup"
        assert b"".join(run.piece(token) or b"" for token in run.header.prompt or ()) == b"<user>ab ab ab\n<assistant>"
        rounds = []
        while (round_ := run.step()) is not None:
            rounds.append(round_)
        text = [token for each in rounds for token in each.emitted or ()]
        assert len(text) == 20

        run.rewind(rounds[:2], drafter=f"draft-model:{other}")
        assert run.header.drafter is not None
        assert run.header.drafter.kind == "draft-model"
        again = rounds[:2]
        while (round_ := run.step()) is not None:
            again.append(round_)
        assert [token for each in again for token in each.emitted or ()] == text
        assert sum(each.drafted for each in again) > 0
    finally:
        run.close()


def test_what_cannot_be_loaded_is_said_by_the_engine(tmp_path: Path) -> None:
    broken = optimum(tmp_path, Make(last_row="told"))
    with pytest.raises(ModelError, match="gives logits of the last row only"):
        RemoteRun(local(request(broken))).open()
