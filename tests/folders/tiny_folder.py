"""Folders with a tiny model in the layouts of onnxruntime-genai and Optimum: the same weights, the same rows."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import processors

from tests.models.tiny import tokenizer

VOCAB, CONTEXT, LAYERS = 257, 128, 2
HIDDEN, HEADS, KV_HEADS, SIZE = 32, 4, 2, 16
END = 256
CHAT = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}<assistant>"
_GENAI, _INT64 = "com.microsoft", TensorProto.INT64


@dataclasses.dataclass(frozen=True)
class Make:
    """How a graph differs from the usual one of its layout.

    ``dtype`` is that of state and logits, ``output`` of the logits alone; ``width`` and ``capacity`` are fixed shapes.
    ``quantised``: the head multiplies in int8, by one scale for all rows of a pass. ``window``: caches that slide, as
    far back as a row sees. ``settled``: inputs that are the same in every pass. ``masked``: a row sees none
    behind it.
    """

    genai: bool = False
    seed: int = 0
    dtype: int = TensorProto.FLOAT
    output: int | None = None
    positions: bool = True
    hidden: bool = False
    taps: bool = False
    last_row: str = ""
    past: bool = True
    logits: bool = True
    embeds: bool = False
    width: int | None = None
    batch: int | str = "batch_size"
    capacity: int | None = None
    heads_last: bool = False
    names: str = "past_key_values.%d.{}"
    vocab: int = VOCAB
    quantised: bool = False
    window: int | None = None
    settled: bool = False
    masked: bool = True


def optimum(folder: Path, make: Make = Make(), graph: str = "model.onnx", **config: Any) -> Path:
    """A folder as Optimum writes it."""
    write_graph(folder / graph, make)
    _write(folder / "config.json", {"model_type": "llama", "vocab_size": VOCAB, **_SIZES, **config})
    _write(folder / "generation_config.json", {"eos_token_id": END})
    write_tokenizer(folder)
    return folder


def genai(folder: Path, make: Make = Make(genai=True), graph: str = "model.onnx", **model: Any) -> Path:
    """A folder as onnxruntime-genai's builder writes it: its one configuration file, weights beside the graph."""
    write_graph(folder / graph, make, external=True)
    inputs = {"input_ids": "input_ids", "attention_mask": "attention_mask"}
    outputs = {"logits": "logits"}
    for part in ("key", "value"):
        inputs[f"past_{part}_names"] = make.names.format(part)
        outputs[f"present_{part}_names"] = present_of(make.names.format(part))
    decoder = {
        "filename": graph,
        "head_size": SIZE,
        "num_key_value_heads": KV_HEADS,
        "num_hidden_layers": LAYERS,
        "sliding_window": {"window_size": make.window, "layers": [*range(LAYERS)] if make.window else []},
        "inputs": inputs,
        "outputs": outputs,
    }
    whole = {"type": "llama", "vocab_size": VOCAB, "context_length": CONTEXT, "eos_token_id": [END], "decoder": decoder}
    _write(folder / "genai_config.json", {"model": {**whole, **model}})
    write_tokenizer(folder)
    return folder


def write_tokenizer(folder: Path, bos: bool = False, merges: int = 0, special: int = 0) -> None:
    """A byte-level tokenizer, with a chat template; ``bos`` puts a token before every text, the others add ids."""
    library = tokenizer()
    if bos:
        library.post_processor = processors.TemplateProcessing(
            single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", END)]
        )
    library.add_tokens([f"<more{i}>" for i in range(merges)])
    library.add_special_tokens([f"<special{i}>" for i in range(special)])
    (folder / "tokenizer.json").write_text(library.to_str(), encoding="utf-8")
    _write(folder / "tokenizer_config.json", {"eos_token": "<|endoftext|>", "chat_template": CHAT})


def write_graph(path: Path, make: Make, *, external: bool = False) -> None:
    """The graph alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    model = Builder(make).model()
    onnx.checker.check_model(model)
    onnx.save(
        model, str(path), save_as_external_data=external, location=f"{path.name}.data" if external else None,
        size_threshold=256,
    )  # fmt: skip


def present_of(past: str) -> str:
    """The name of the output that follows a past."""
    return past.replace("past_key_values", "present").replace("past_", "present_").replace("_in", "_out")


_SIZES = {
    "max_position_embeddings": CONTEXT,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "hidden_size": HIDDEN,
    "head_dim": SIZE,
}


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


class Builder:
    """A decoder of two layers without an MLP: rotary attention, norms, a head."""

    def __init__(self, make: Make) -> None:
        self.make = make
        self.rng = np.random.default_rng(make.seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        angles = np.arange(CONTEXT + 8)[:, None] * 100.0 ** (-np.arange(0, SIZE, 2) / SIZE)[None]
        self.cos, self.sin = self.tensor(np.cos(angles)), self.tensor(np.sin(angles))

    def model(self) -> onnx.ModelProto:
        make, rows = self.make, "sequence_length" if self.make.width is None else self.make.width
        table = self.weight(make.vocab, HIDDEN, 3.0)
        if make.embeds:
            x = self.input("inputs_embeds", [make.batch, rows, HIDDEN], TensorProto.FLOAT)
        else:
            x = self.op("Gather", table, self.input("input_ids", [make.batch, rows]))
        mask = self.input("attention_mask", [make.batch, "total_sequence_length"])
        positions = self.input("position_ids", [make.batch, rows]) if make.positions and not make.genai else ""
        self.total = self.op("Gather", self.op("Shape", mask), self.ints(1, scalar=True))
        if not positions:
            first = self.op("Sub", self.total, self.op("Gather", self.op("Shape", x), self.ints(1, scalar=True)))
            ends = [first, self.total, self.ints(1, scalar=True)]
            positions = self.op("Unsqueeze", self.op("Range", *ends), self.ints(0))
        self.positions = positions
        ones = self.op("ReduceSum", mask, self.ints(1), keepdims=0)
        self.seqlens = self.op("Cast", self.op("Sub", ones, self.ints(1)), to=TensorProto.INT32)
        self.total_32 = self.op("Cast", self.total, to=TensorProto.INT32)
        tapped = []
        for layer in range(LAYERS):
            x = self.op("Add", x, self.attention(self.norm(x), layer))
            tapped.append(x)
        normed = self.norm(x)
        width: list[Any] = [make.batch, rows, HIDDEN]
        if make.hidden:
            self.output(normed, "hidden_states", width)
        if make.taps:
            joined = self.op("Concat", *tapped, axis=-1)
            self.output(joined, "aux_hidden_states", [*width[:2], LAYERS * HIDDEN])
        if make.last_row:
            normed = self.op("Slice", normed, self.ints(-1), self.ints(2**62), self.ints(1))
        if make.settled:
            first = self.op("Neg", self.op("Unsqueeze", self.input("num_logits_to_keep", []), self.ints(0)))
            normed = self.op("Slice", normed, first, self.ints(2**62), self.ints(1))
            branch = self.op("Cast", self.input("use_cache_branch", [1], TensorProto.BOOL), to=TensorProto.FLOAT)
            normed = self.op("Mul", normed, branch)
        if make.logits:
            if make.quantised:
                logits = self.integers(normed, table)
            else:
                logits = self.op("MatMul", normed, self.op("Transpose", table, perm=[1, 0]))
            given: int | str = 1 if make.last_row == "told" else rows
            dtype = make.output or make.dtype
            shape = [make.batch, given, "vocab"]
            if make.last_row == "flat":
                logits, shape = self.op("Squeeze", logits, self.ints(1)), [make.batch, "vocab"]
            self.output(self.op("Cast", logits, to=dtype), "logits", shape, dtype)
        self.outputs.sort(key=lambda output: output.name.startswith("present"))
        graph = helper.make_graph(self.nodes, "tiny", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid(_GENAI, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="tiny")

    def integers(self, x: str, table: str) -> str:
        array = next(numpy_helper.to_array(each) for each in self.constants if each.name == table)
        scales = np.abs(array).max(axis=1) / 63
        numbers = np.rint(array / scales[:, None]).T.astype(np.int8)
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(numbers), "head.int8"))
        return self.op("DynamicQuantizeMatMul", x, "head.int8", self.tensor(scales), domain=_GENAI)

    def attention(self, x: str, layer: int) -> str:
        q, k, v = (self.op("MatMul", x, self.weight(HIDDEN, n * SIZE, 1.5)) for n in (HEADS, KV_HEADS, KV_HEADS))
        out = self.weight(HEADS * SIZE, HIDDEN)
        pasts = [self.make.names.format(part) % layer for part in ("key", "value")]
        return self.op("MatMul", (self.gqa if self.make.genai else self.concat)(q, k, v, pasts), out)

    def gqa(self, q: str, k: str, v: str, pasts: list[str]) -> str:
        dtype = self.make.dtype
        shapes: list[list[Any]] = [
            [self.make.batch, KV_HEADS, f"{when}_sequence_length", "kv_cache_dim"] for when in ("past", "total")
        ]
        for past in pasts:
            self.inputs.append(helper.make_tensor_value_info(past, dtype, shapes[0]))
            self.outputs.append(helper.make_tensor_value_info(present_of(past), dtype, shapes[1]))
        tables = [self.cast(table) for table in (self.cos, self.sin)]
        inputs = [*(self.cast(each) for each in (q, k, v)), *pasts, self.seqlens, self.total_32, *tables]
        name = f"gqa_{len(self.nodes)}"
        outputs = [name, *map(present_of, pasts)]
        sizes: dict[str, Any] = {"num_heads": HEADS, "kv_num_heads": KV_HEADS, "do_rotary": 1}
        if self.make.window is not None:
            sizes |= {"local_window_size": self.make.window, "sliding_window_cache": 1}
        self.nodes.append(helper.make_node("GroupQueryAttention", inputs, outputs, domain=_GENAI, **sizes))
        return self.op("Cast", name, to=TensorProto.FLOAT)

    def concat(self, q: str, k: str, v: str, pasts: list[str]) -> str:
        q, k, v = self.heads(q, HEADS), self.heads(k, KV_HEADS), self.heads(v, KV_HEADS)
        q, k = self.rotated(q), self.rotated(k)
        if self.make.past:
            k, v = (self.grown(past, new) for past, new in zip(pasts, (k, v), strict=True))
        k, v = (self.op("Concat", *self.twice(each), axis=1) for each in (k, v))
        scores = self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2]))
        scores = self.op("Mul", scores, self.tensor(np.array(SIZE**-0.5)))
        places = self.op("Range", self.ints(0, scalar=True), self.total, self.ints(1, scalar=True))
        seen = self.op("LessOrEqual", places, self.op("Unsqueeze", self.positions, self.ints(2)))
        if self.make.masked:
            scores = self.op("Where", self.op("Unsqueeze", seen, self.ints(1)), scores, self.tensor(np.array(-1e9)))
        out = self.op("Transpose", self.op("MatMul", self.op("Softmax", scores), v), perm=[0, 2, 1, 3])
        return self.op("Reshape", out, self.ints(0, 0, -1))

    def heads(self, x: str, count: int) -> str:
        return self.op("Transpose", self.op("Reshape", x, self.ints(0, 0, count, SIZE)), perm=[0, 2, 1, 3])

    def twice(self, x: str) -> list[str]:
        """Each key-value head for the heads that share it, in the order in which they share it."""
        ends = zip(range(KV_HEADS), range(1, KV_HEADS + 1), strict=True)
        each = [self.op("Slice", x, self.ints(a), self.ints(b), self.ints(1)) for a, b in ends]
        return [head for head in each for _ in range(HEADS // KV_HEADS)]

    def grown(self, past: str, new: str) -> str:
        make = self.make
        shapes: list[list[Any]] = [
            [make.batch, KV_HEADS, make.capacity or f"{when}_sequence_length", SIZE] for when in ("past", "total")
        ]
        if make.heads_last:
            shapes = [[shape[0], shape[2], shape[1], shape[3]] for shape in shapes]
        held = self.op("Cast", self.input(past, shapes[0], make.dtype), to=TensorProto.FLOAT)
        if make.heads_last:
            held = self.op("Transpose", held, perm=[0, 2, 1, 3])
        both = self.op("Concat", held, self.op("Cast", self.cast(new), to=TensorProto.FLOAT), axis=2)
        given = self.op("Transpose", both, perm=[0, 2, 1, 3]) if make.heads_last else both
        self.output(self.cast(given), present_of(past), shapes[1], make.dtype)
        return both

    def rotated(self, x: str) -> str:
        """Rotary positions, halves apart, as GroupQueryAttention has them."""
        tables = [
            self.op("Unsqueeze", self.op("Gather", table, self.positions), self.ints(1))
            for table in (self.cos, self.sin)
        ]
        low, high = (self.op("Slice", x, self.ints(a), self.ints(a + SIZE // 2), self.ints(3)) for a in (0, SIZE // 2))
        straight = [self.op("Mul", half, tables[0]) for half in (low, high)]
        crossed = [self.op("Mul", half, tables[1]) for half in (high, low)]
        return self.op(
            "Concat", self.op("Sub", straight[0], crossed[0]), self.op("Add", straight[1], crossed[1]), axis=3
        )

    def norm(self, x: str) -> str:
        return self.op("LayerNormalization", x, self.tensor(np.ones(HIDDEN)))

    def cast(self, value: str) -> str:
        return value if self.make.dtype == TensorProto.FLOAT else self.op("Cast", value, to=self.make.dtype)

    def input(self, name: str, shape: list[Any], dtype: int = _INT64) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, value: str, name: str, shape: list[Any], dtype: int = TensorProto.FLOAT) -> None:
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def ints(self, *values: int, scalar: bool = False) -> str:
        return self.tensor(np.array(values[0] if scalar else values, np.int64))

    def weight(self, rows: int, columns: int, scale: float = 1.0) -> str:
        return self.tensor(self.rng.normal(0, scale * HIDDEN**-0.5, (rows, columns)))

    def tensor(self, array: NDArray[Any]) -> str:
        name = f"c{len(self.constants)}"
        typed = array if array.dtype == np.int64 else array.astype(np.float32)
        self.constants.append(numpy_helper.from_array(typed, name))
        return name
