"""The graph of an MTP head: one more layer of its base, over pairs of a token and a hidden state."""

import numpy as np
from onnx import TensorProto

from engine.models.graph import Graph
from engine.models.graph_decoder import Decoder, Sizes

_END = np.iinfo(np.int64).max


def mtp_graph(graph: Graph, sizes: Sizes) -> None:
    """One step of an MTP head in Qwen's form: from (token ``i + 1``, hidden ``i``) pairs to the token at ``i + 2``.

    Weights are ``mtp.*``, embedding and head those of the base. Gives ``logits`` and ``hidden_out`` of the last row
    only; the latter is what the next step of a chain takes as its hidden state.
    """
    decoder = Decoder(graph, sizes)
    tokens = graph.input("input_ids", [1, "n"], TensorProto.INT64)
    hidden = graph.input("hidden", [1, "n", sizes.hidden_size])
    decoder.shared_cache(1)
    embedded = decoder.norm(decoder.embed(tokens), "mtp.norm_embed")
    joined = graph.op("Concat", embedded, decoder.norm(hidden, "mtp.norm_hidden"), axis=-1)
    x = graph.linear(joined, "mtp.fc")
    x, change = decoder.causal_layer(x, decoder.norm(x, "mtp.layer.input_layernorm"), "mtp.layer", 0)
    normed, _ = decoder.add_norm(x, change, "mtp.norm")
    last = graph.op("Slice", normed, graph.integers(-1), graph.integers(_END), graph.integers(1))
    graph.output(last, "hidden_out", [1, 1, sizes.hidden_size])
    graph.output(decoder.logits(last), "logits", [1, 1, sizes.vocab_size])
