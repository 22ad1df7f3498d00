"""A bundle is checked when it is opened: what is damaged is named in one sentence."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ModelError
from engine.models.bundle_writer import Networks
from engine.models.bundled import Bundle, load_base, load_drafter, open_bundle
from engine.models.weights import Storage
from tests.models.tiny import CONTEXT, VOCAB, networks, tokenizer, write


@pytest.fixture
def folder(bundle: Bundle, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return shutil.copytree(bundle.folder, tmp_path / "bundle")


def test_a_bundle_gives_a_base_its_drafters_and_its_tokenizer(folder: Path) -> None:
    bundle = open_bundle(folder)

    base = load_base(bundle)

    assert base.vocab_size == bundle.tokenizer().vocab_size == VOCAB
    assert base.context_length == CONTEXT
    assert base.info.sha256 == bundle.manifest.base.sha256
    assert [load_drafter(bundle, kind).vocab_size for kind in bundle.manifest.drafters] == [VOCAB] * 3
    assert bundle.tokenizer().encode("a") != []


def test_the_embedding_is_stored_once_for_all_graphs(tmp_path: Path, nets: Networks) -> None:
    alone = write(tmp_path / "base", Networks(nets.base), storage=Storage.FLOAT32)
    whole = write(tmp_path / "whole", nets, storage=Storage.FLOAT32)

    size = (whole.folder / "weights.bin").stat().st_size
    drafters = sum(array.nbytes for part in (nets.mtp, nets.dflash, nets.dflash2) if part for array in part.values())
    embedding = nets.base["embed_tokens.weight"].nbytes
    assert size - (alone.folder / "weights.bin").stat().st_size < drafters + embedding


def test_the_base_keeps_its_digest_when_only_its_drafters_change(tmp_path: Path, nets: Networks) -> None:
    other = networks(seed=99)
    first = write(tmp_path / "first", nets).manifest
    same_base = write(tmp_path / "second", Networks(nets.base, dflash=other.dflash)).manifest
    other_base = write(tmp_path / "third", Networks(other.base, dflash=other.dflash)).manifest

    assert same_base.base.sha256 == first.base.sha256
    assert same_base.drafters["dflash"].sha256 != first.drafters["dflash"].sha256
    assert other_base.base.sha256 != first.base.sha256


@pytest.mark.parametrize(
    "name", ["base.onnx", "mtp.onnx", "dflash.onnx", "dflash2.onnx", "weights.bin", "tokenizer.json"]
)
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()

    with pytest.raises(ModelError, match=f"{name}: missing from the bundle"):
        open_bundle(folder)


@pytest.mark.parametrize("name", ["base.onnx", "weights.bin"])
def test_a_file_that_was_cut_short_is_named_with_both_sizes(folder: Path, name: str) -> None:
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[:-100])

    with pytest.raises(ModelError, match=f"{name}: {len(data) - 100} bytes where {len(data)} are expected"):
        open_bundle(folder)


def test_a_changed_byte_is_found(folder: Path) -> None:
    data = bytearray((folder / "weights.bin").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "weights.bin").write_bytes(data)

    with pytest.raises(ModelError, match=r"weights.bin: its content is not what the manifest says"):
        open_bundle(folder)


def test_a_folder_without_a_manifest_is_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no model bundle"):
        open_bundle(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda manifest: manifest.update(format=9), "its format is 9"),
        (lambda manifest: manifest.pop("vocab_size"), "not a bundle's manifest"),
        (lambda manifest: manifest.update(vocab_size=5), "vocabulary is 257, the manifest says 5"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(
    folder: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    path = folder / "bundle.json"
    manifest = json.loads(path.read_bytes())
    change(manifest)
    path.write_text(json.dumps(manifest))

    with pytest.raises(ModelError, match=message):
        load_base(open_bundle(folder))


def test_a_manifest_that_is_no_json_is_refused(folder: Path) -> None:
    (folder / "bundle.json").write_bytes(b'{"format": 1,')

    with pytest.raises(ModelError, match="not a bundle's manifest"):
        open_bundle(folder)


def test_a_drafter_that_is_not_there_is_named_with_those_that_are(bundle: Bundle) -> None:
    with pytest.raises(ModelError, match="no drafter 'eagle' in this bundle, it has dflash, dflash2, mtp"):
        load_drafter(bundle, "eagle")


def test_a_drafter_for_another_base_is_refused(folder: Path) -> None:
    path = folder / "bundle.json"
    manifest = json.loads(path.read_bytes())
    manifest["drafters"]["mtp"]["base_sha256"] = "0" * 64
    path.write_text(json.dumps(manifest))

    with pytest.raises(ModelError, match="mtp was made for another base"):
        load_drafter(open_bundle(folder), "mtp")


def test_a_tokenizer_of_another_size_is_refused(tmp_path: Path, nets: Networks) -> None:
    bundle = write(tmp_path, nets)
    library = tokenizer()
    library.add_tokens(["more"])
    (tmp_path / "tokenizer.json").write_text(library.to_str())

    with pytest.raises(ModelError, match="the tokenizer has 258 tokens, the base 257"):
        bundle.tokenizer()
