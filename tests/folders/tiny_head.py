"""An MTP head beside a tiny model, in the layout of onnxruntime-genai: the same embedding, one layer of its own."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.folders.tiny_folder import HIDDEN, KV_HEADS, SIZE, Builder, Make, genai

BASE = Make(genai=True, hidden=True)


def with_head(folder: Path, base: Make = BASE, head: Make = BASE, **section: Any) -> Path:
    """A folder of a model with its head; ``section`` is what its ``mtp`` says in place of the usual."""
    genai(folder, base)
    write_head(folder / "mtp.onnx", head)
    path = folder / "genai_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    past = {"past_key_names": "past_key_values.%d.key", "past_value_names": "past_key_values.%d.value"}
    present = {"present_key_names": "present.%d.key", "present_value_names": "present.%d.value"}
    names = ("input_ids", "hidden_states", "attention_mask", "position_ids")
    config["model"]["mtp"] = {
        "enabled": True,
        "filename": "mtp.onnx",
        "num_hidden_layers": 1,
        "num_key_value_heads": KV_HEADS,
        "head_size": SIZE,
        "main_hidden_states": "hidden_states",
        "inputs": {**{name: name for name in names}, **past},
        "outputs": {"logits": "logits", "hidden_states": "hidden_states_out", **present},
        **section,
    }
    path.write_text(json.dumps(config), encoding="utf-8")
    return folder


def write_head(path: Path, make: Make) -> None:
    """The head's graph: ``embeds`` leaves the hidden states out, ``taps`` asks for an input more, as others might."""
    onnx.save(Head(make).model(), str(path))


class Head(Builder):
    """One layer over the normed embedding of a token and the hidden state before it, joined.

    Most of what it passes on is the hidden state, so that what it drafts has to do with what the base chooses.
    """

    def model(self) -> onnx.ModelProto:
        make, rows = self.make, "sequence_length" if self.make.width is None else self.make.width
        table = self.weight(make.vocab, HIDDEN, 3.0)
        x = self.norm(self.op("Gather", table, self.input("input_ids", [1, rows])))
        if not make.embeds:
            hidden = self.input("hidden_states", [1, rows, HIDDEN], make.dtype)
            x = self.op("Concat", x, self.op("Cast", hidden, to=TensorProto.FLOAT), axis=-1)
            mixed = np.concatenate([self.rng.normal(0, 0.3 * HIDDEN**-0.5, (HIDDEN, HIDDEN)), np.eye(HIDDEN)])
            x = self.op("MatMul", x, self.tensor(mixed))
        if make.taps:
            x = self.op("Add", x, self.input("cumulative_sequence_lengths", [1], TensorProto.FLOAT))
        mask = self.input("attention_mask", [1, "total_sequence_length"])
        self.total = self.op("Gather", self.op("Shape", mask), self.ints(1, scalar=True))
        places = self.input("position_ids", [3, 1, rows])
        self.positions = self.op("Gather", places, self.ints(0, scalar=True))
        ones = self.op("ReduceSum", mask, self.ints(1), keepdims=0)
        self.seqlens = self.op("Cast", self.op("Sub", ones, self.ints(1)), to=TensorProto.INT32)
        self.total_32 = self.op("Cast", self.total, to=TensorProto.INT32)
        x = self.norm(self.op("Add", x, self.attention(self.norm(x), 0)))
        width = HIDDEN // 2 if make.last_row else HIDDEN
        given = self.op("Slice", x, self.ints(0), self.ints(width), self.ints(2)) if make.last_row else x
        self.output(self.op("Cast", given, to=make.dtype), "hidden_states_out", [1, rows, width], make.dtype)
        logits = self.op("MatMul", x, self.op("Transpose", table, perm=[1, 0]))
        self.output(self.op("Cast", logits, to=make.dtype), "logits", [1, rows, make.vocab], make.dtype)
        graph = helper.make_graph(self.nodes, "head", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="tiny")
