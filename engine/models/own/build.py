"""Makes a GGUF file into a folder like that of the bundled models: a graph, its weights, a tokenizer and a manifest."""

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from engine.drafters.drafter import first_best
from engine.errors import EngineFault, ModelError
from engine.models.bundle_writer import Layout, Networks, write_bundle
from engine.models.bundled import CHAT_TEMPLATE, Manifest, load_base, load_drafter, open_bundle
from engine.models.own.architecture import Network, network_of
from engine.models.own.block import BlockDrafter
from engine.models.own.container import GgufFile
from engine.models.own.vocabulary import Vocabulary, vocabulary_of
from engine.models.weights import Storage
from engine.stages import stage


@dataclasses.dataclass(frozen=True)
class Choices:
    """What a file leaves open. ``taps`` are layers, 0-based, by default three; ``context`` is in positions.

    ``drafter`` is the folder of a DFlash or DFlash 2 drafter for it, which says which layers it taps.
    """

    name: str
    storage: Storage = Storage.FLOAT32
    taps: tuple[int, ...] | None = None
    context: int | None = None
    drafter: Path | None = None


class Plan:
    """What is to be built of a file, checked as far as that goes without unpacking its weights.

    Raises:
        ModelError: the file cannot be read or built, its tokenizer does not fit its embedding, or there is no such
            layer to tap.
    """

    def __init__(self, path: Path, choices: Choices) -> None:
        self.file = GgufFile(path)
        self.choices = choices
        self.network: Network = network_of(self.file, choices.context)
        self.vocabulary: Vocabulary = vocabulary_of(self.file)
        sizes = self.network.sizes
        tokens = self.vocabulary.library.get_vocab_size()
        if tokens != sizes.vocab_size:
            raise ModelError(f"{path}: its tokenizer has {tokens} tokens, its embedding {sizes.vocab_size} rows")
        layers = sizes.num_hidden_layers
        self.drafter: BlockDrafter | None = None
        self.taps = usual_taps(layers) if choices.taps is None else choices.taps
        if choices.drafter is not None:
            self.drafter = BlockDrafter(choices.drafter, sizes, self.network.context)
            if choices.taps not in (None, self.drafter.taps):
                told = ", ".join(map(str, self.drafter.taps))
                raise ModelError(f"{choices.drafter}: it reads the layers {told}: leave --taps out")
            self.taps = self.drafter.taps
        for tap in self.taps:
            if not 0 <= tap < layers:
                raise ModelError(f"{path}: there is no layer {tap} to tap, they are 0 to {layers - 1}")

    @property
    def bytes(self) -> int:
        """About how many bytes the folder will have."""
        width = {Storage.FLOAT32: 4, Storage.FLOAT16: 2, Storage.INT8: 1}[self.choices.storage]
        numbers = sum(int(tensor.n_elements) for tensor in self.file.tensors.values())
        numbers += 0 if self.drafter is None else self.drafter.numbers
        sizes = self.network.sizes
        return numbers * width + sizes.rope_positions * sizes.head_dim * 4 + 50 * sizes.vocab_size

    def write(self, folder: Path) -> Manifest:
        """Build it into ``folder`` and try it.

        Raises:
            ModelError: what was built gives no numbers.
            OSError: it cannot be written.
        """
        file, network = self.file, self.network
        types = Counter(tensor.tensor_type.name for tensor in file.tensors.values())
        source = {
            "file": file.path.name,
            "architecture": network.architecture,
            "tensors": dict(types.most_common()),
            "context_length": network.allowed,
            "parameters": sum(int(tensor.n_elements) for tensor in file.tensors.values()),
            "licence": file.get("general.license", str, ""),
            "taps": list(self.taps),
            "stop_texts": [self.vocabulary.library.id_to_token(token) for token in self.vocabulary.stop_tokens],
            "special_tokens": self.vocabulary.names,
        }
        layout = Layout(
            name=self.choices.name,
            context_length=network.context,
            taps=self.taps,
            start_token=self.vocabulary.start_token,
            stop_tokens=self.vocabulary.stop_tokens,
            storage=self.choices.storage,
            source=source,
        )
        tokenizer = self.vocabulary.library.to_str().encode()
        networks = Networks(network.weights(self._unpacking()))
        if (drafter := self.drafter) is not None:
            own = drafter.weights(networks.base["embed_tokens.weight"])
            networks = dataclasses.replace(networks, **{drafter.kind: own})
            layout = dataclasses.replace(layout, block=drafter.block, block_sizes=drafter.sizes)
            layout.source["drafter"] = drafter.checkpoint.folder.resolve().name
        manifest = write_bundle(folder, networks, network.sizes, layout, tokenizer)
        if template := file.get("tokenizer.chat_template", str, ""):
            (folder / CHAT_TEMPLATE).write_text(template, encoding="utf-8")
        _try(folder)
        return manifest

    def _unpacking(self) -> Callable[[str], None]:
        """Tells, of the tensors of which it is told that they were read, how many of the file's bytes those are."""
        sizes = {tensor.name: int(tensor.n_bytes) for tensor in self.file.tensors.values()}
        advance = stage(f"unpacking {self.file.path.name}", sum(sizes.values()))
        done = 0

        def read(name: str) -> None:
            nonlocal done
            done += sizes[name]
            advance(done)

        return read


def usual_taps(layers: int) -> tuple[int, ...]:
    """Three layers for drafters to read: one near each end and one in the middle, fewer where there are not three."""
    return tuple(sorted({min(1, layers - 1), layers // 2, max(0, layers - 2)}))


def _try(folder: Path) -> None:
    """Load what was built, run one token through it and draft behind that."""
    bundle = open_bundle(folder)
    stage("trying the model with one token")
    base = load_base(bundle)
    token = bundle.manifest.start_token or 0
    try:
        rows = base.prefill([token])
        given = [rows.logits]
        for kind in bundle.manifest.drafters:
            drafter = load_drafter(bundle, kind)
            drafter.commit([token], rows)
            drafts = drafter.draft(token, 1, first_best, 0.0)
            given += [] if drafts.logits is None else [drafts.logits.max(axis=1)]
    except EngineFault as error:
        raise ModelError(f"the model was built but does not run: {error}") from error
    if not all(np.isfinite(each).all() for each in given):
        raise ModelError("the model was built but gives numbers that are not finite: its file may be damaged")
