"""The MTP head of an onnxruntime-genai folder: its drafts are its graph's, its text is plain decode's."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto

from engine.drafters.mtp import MtpDrafter
from engine.errors import ModelError
from engine.folders import mtp
from engine.loop import Run, prefill, rounds
from engine.opening import Models, open_models
from engine.options import Options
from engine.records import Round
from engine.request import Setup
from tests.folders.tiny_folder import HIDDEN, KV_HEADS, SIZE, VOCAB, Make, genai
from tests.folders.tiny_head import BASE, with_head, write_head

HEADS = {"one buffer": Make(genai=True), "two buffers": Make()}


class Whole:
    """Drafts from the head's graph and the base's hidden states, over all of the text each time."""

    def __init__(self, folder: Path) -> None:
        providers = ["CPUExecutionProvider"]
        self._base = ort.InferenceSession(str(folder / "model.onnx"), providers=providers)
        self._head = ort.InferenceSession(str(folder / "mtp.onnx"), providers=providers)

    def drafts(self, text: Sequence[int], t1: int, count: int) -> tuple[int, ...]:
        feeds = {"input_ids": np.array([text]), "attention_mask": np.ones((1, len(text)), np.int64)}
        hidden = self._run(self._base, feeds, "hidden_states")[0]
        tokens, drafts = [*text[1:], t1], []
        for _ in range(count):
            n = len(tokens)
            feeds = {
                "input_ids": np.array([tokens]),
                "attention_mask": np.ones((1, n), np.int64),
                "position_ids": np.tile(np.arange(n), (3, 1, 1)),
                "hidden_states": hidden[None],
            }
            logits, own = self._run(self._head, feeds, "logits", "hidden_states_out")
            drafts.append(int(logits[0, -1].argmax()))
            tokens.append(drafts[-1])
            hidden = np.concatenate([hidden, own[0, -1:]])
        return tuple(drafts)

    @staticmethod
    def _run(session: ort.InferenceSession, feeds: dict[str, np.ndarray], *names: str) -> list[np.ndarray]:
        pasts = [each.name for each in session.get_inputs() if each.name.startswith("past")]
        empty = np.zeros((1, KV_HEADS, 0, SIZE), np.float32)
        wanted = {each.name for each in session.get_inputs()}
        given = {name: value for name, value in feeds.items() if name in wanted}
        rows: list[np.ndarray] = session.run(list(names), given | dict.fromkeys(pasts, empty))
        return rows if len(names) > 1 else [rows[0][0]]


def ran(models: Models, prompt: Sequence[int], drafter: str, **options: object) -> list[Round]:
    models.base.rollback(0)
    chosen = Options(**{"max_tokens": 24, "stop_tokens": (), **options})  # type: ignore[arg-type]
    run = Run(models.base, models.drafter(drafter), len(prompt), prefill(models.base, prompt), chosen)
    made = list(rounds(run))
    assert run.reason == "max_tokens"
    return made


def text_of(made: Sequence[Round]) -> list[int]:
    return [token for round_ in made for token in round_.emitted or ()]


PROMPTS = [[97, 98] * 5, [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5], [200], list(range(40, 80))]


@pytest.fixture(scope="module", params=HEADS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_head(tmp_path_factory.mktemp("mtp") / "tiny", head=HEADS[request.param])


@pytest.mark.parametrize("form", ["one-pass", "two-pass"])
def test_its_drafts_are_those_of_its_graph_over_the_whole_text(folder: Path, form: str) -> None:
    models, whole = open_models(str(folder)), Whole(folder)
    takes = set()
    for prompt in PROMPTS:
        text = list(prompt)
        for round_ in ran(models, prompt, "mtp", k=4, form=form):
            if round_.drafts:
                assert round_.t1 is not None
                assert round_.drafts == whole.drafts(text, round_.t1, len(round_.drafts)), (prompt, round_.index)
                takes.add(round_.take)
            text += round_.emitted or ()
    assert len(takes) > 1, "drafts were never kept, or never refused"


@pytest.mark.parametrize("k", [1, 3, 5])
def test_its_text_is_plain_decodes(folder: Path, k: int) -> None:
    models = open_models(str(folder), Setup(plain_width=2))
    for prompt in PROMPTS:
        plain = text_of(ran(models, prompt, "none", plain_width=2))
        assert text_of(ran(models, prompt, "mtp", k=k, plain_width=2)) == plain


def test_a_run_that_goes_back_drafts_the_same_again(folder: Path) -> None:
    models, prompt = open_models(str(folder)), PROMPTS[0]
    run = Run(
        models.base, models.drafter("mtp"), len(prompt), prefill(models.base, prompt), Options(k=3, max_tokens=20)
    )
    made = list(rounds(run))
    run.rewind(made[:2])
    again = [*made[:2], *rounds(run)]
    assert [each.drafts for each in again] == [each.drafts for each in made]


def test_a_long_prompt_is_read_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = PROMPTS[3]
    whole = ran(open_models(str(folder)), prompt, "mtp", k=3)
    monkeypatch.setattr(mtp, "PREFILL_LOGITS", 7 * VOCAB)
    parts = ran(open_models(str(folder)), prompt, "mtp", k=3)
    assert [each.drafts for each in parts] == [each.drafts for each in whole]


def test_compiled_widths_change_no_draft(folder: Path) -> None:
    wanted = ran(open_models(str(folder)), PROMPTS[3], "mtp", k=3)
    padded = ran(open_models(str(folder), Setup(widths=(2, 8, 64))), PROMPTS[3], "mtp", k=3)
    assert text_of(padded) == text_of(wanted)
    assert [each.drafts for each in padded] == [each.drafts for each in wanted]


def test_it_is_the_models_first_drafter_and_no_second_model(folder: Path) -> None:
    models = open_models(str(folder))
    assert models.drafters == ("mtp", "lookup")
    drafter = models.drafter("mtp")
    assert isinstance(drafter, MtpDrafter)
    assert (drafter.info.kind, drafter.info.name, drafter.consumed) == ("mtp", "tiny-mtp", 0)
    assert set(models.device()["graphs"]) == {"model.onnx", "mtp.onnx"}
    assert not any("mtp.onnx" in event.message for event in models.events())


def test_a_head_that_is_switched_off_is_not_offered(tmp_path: Path) -> None:
    models = open_models(str(with_head(tmp_path / "tiny", enabled=False)))
    assert models.drafters == ("lookup",)
    with pytest.raises(
        ModelError, match="tiny has no drafter 'mtp' of its own: use lookup, draft-model:FOLDER or none"
    ):
        models.drafter("mtp")


@pytest.mark.parametrize(
    ("base", "head", "says"),
    [
        (Make(genai=True), BASE, "the head reads hidden states, .*export the model with include_hidden_states"),
        (BASE, Make(genai=True, vocab=VOCAB + 1), f"its logits is {VOCAB + 1} wide, the model's {VOCAB}: they are not"),
        (BASE, Make(genai=True, last_row="half"), f"its hidden_states_out is {HIDDEN // 2} wide, the model's {HIDDEN}"),
        (BASE, Make(genai=True, dtype=TensorProto.FLOAT16), r"hidden_states is tensor\(float16\), .*for the CPU"),
        (BASE, Make(genai=True, embeds=True), "mtp.onnx: the graph has no hidden_states"),
        (BASE, Make(genai=True, taps=True), "the head wants cumulative_sequence_lengths, which a drafter has no value"),
        (BASE, Make(past=False), "it takes no past keys and values: export the head with a cache"),
        (BASE, Make(capacity=64), r"past_key_values\.0\.key, .* does not grow with the text"),
        (BASE, Make(genai=True, width=1), None),
    ],
)
def test_a_head_that_does_not_fit_is_refused(tmp_path: Path, base: Make, head: Make, says: str | None) -> None:
    models = open_models(str(with_head(tmp_path / "tiny", base, head)))
    if says is None:
        assert isinstance(models.drafter("mtp"), MtpDrafter)
        return
    with pytest.raises(ModelError, match=says):
        models.drafter("mtp")


def test_a_head_that_is_not_there_or_is_no_graph(tmp_path: Path) -> None:
    folder = with_head(tmp_path / "tiny")
    (folder / "mtp.onnx").write_bytes(b"\x08\x07")
    with pytest.raises(ModelError, match=r"mtp\.onnx"):
        open_models(str(folder)).drafter("mtp")
    (folder / "mtp.onnx").unlink()
    with pytest.raises(ModelError, match=r"its configuration names the MTP head mtp\.onnx, which is not there"):
        open_models(str(folder)).drafter("mtp")


@pytest.mark.parametrize("filename", ["../mtp.onnx", "/mtp.onnx", "", 3])
def test_a_head_outside_the_folder_is_refused(tmp_path: Path, filename: object) -> None:
    with pytest.raises(ModelError, match=r"the filename of its mtp is .*: it has to be a file inside the folder"):
        open_models(str(with_head(tmp_path / "tiny", filename=filename)))


@pytest.mark.parametrize("kind", ["dflash2", "dspark"])
def test_a_block_drafter_for_paged_attention_is_refused_with_the_reason(tmp_path: Path, kind: str) -> None:
    section: dict[str, Any] = {kind: {"filename": f"{kind}.onnx", "block_size": 8}}
    folder = genai(tmp_path / "tiny", Make(genai=True), **section)
    write_head(folder / f"{kind}.onnx", BASE)
    models = open_models(str(folder))
    assert models.drafters == ("lookup",)
    assert not any(f"{kind}.onnx" in event.message for event in models.events())
    with pytest.raises(ModelError, match=rf"its drafter {kind} \({kind}.onnx\) is made for paged attention, .* CUDA"):
        models.drafter(kind)


def test_a_section_that_is_no_map_is_none(tmp_path: Path) -> None:
    folder = genai(tmp_path / "tiny", BASE, mtp=["mtp.onnx"])
    assert open_models(str(folder)).drafters == ("lookup",)
    path = folder / "genai_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["model"]["mtp"] = None
    path.write_text(json.dumps(config), encoding="utf-8")
    assert open_models(str(folder)).drafters == ("lookup",)
