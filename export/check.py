"""Whether a SavedModel, ours or not, runs in TensorFlow Serving: its ops, its loader, an answer of every signature."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tensorflow.core.protobuf import meta_graph_pb2

from seqattn_tf.export import cpp_loader, meta_graph, ops
from seqattn_tf.export.versions import version_folders

_INVALID_ARGUMENT = 3
_INITIALISER = "__saved_model_init_op"  # which TensorFlow runs, and no client
# What the session says before anything has run: no input helps.
_NEVER_RUNS = re.compile(
    "must feed a value for placeholder|fed and fetched|fed more than once|at least one target to fetch"
    "|Cannot assign a device|No OpKernel was registered"
)
_UNRESTORED = re.compile(r"Could not find variable \S+(?=\.)")
_COPIES = (
    "its weights are saved as copies that TensorFlow's C++ loader restores, while its signatures read the originals: "
    "this is what saving an object around a Keras 3 model with tf.saved_model.save gives, and what seqattn export "
    "wrote before it was verified in that loader. Export it again: seqattn export RUN models/NAME, or model.export() "
    "for a Keras model"
)


@dataclasses.dataclass(frozen=True)
class Finding:
    """What was found of one signature, or of the whole model where it has no name."""

    signature: str
    fault: str = ""  # empty where it answers
    note: str = ""  # what could not be judged

    def __str__(self) -> str:
        what = f"signature {self.signature}: " if self.signature else ""
        return what + (self.fault or self.note or "answers")


def check(folder: Path) -> dict[Path, list[Finding]]:
    """What was found of each version: of the folder itself, of the versions in it, or of those of the models in it.

    Raises:
        ValueError: there is no SavedModel.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder}: expected a folder. Received: {'a file' if folder.exists() else 'nothing there'}")
    found = [folder] if meta_graph.is_saved_model(folder) else version_folders(folder).values()
    if not found:
        models = sorted(child for child in folder.iterdir() if child.is_dir())
        found = [version for model in models for version in version_folders(model).values()]
    if not found:
        raise ValueError(f"{folder}: expected a SavedModel, or versions of one. Received: a folder with neither")
    return {version: list(_findings(version)) for version in found}


def _findings(folder: Path) -> Iterator[Finding]:
    try:
        graph = meta_graph.read(folder)
        if refused := ops.unservable(meta_graph.ops_of(graph.graph_def)):
            yield Finding("", f"TensorFlow Serving does not link these ops: {', '.join(refused)}")
        _check_weights(folder, graph)
        signatures = _askable(graph)
        told = cpp_loader.ask(folder, [_ask(signature) for signature in signatures.values()])
    except ValueError as error:
        yield Finding("", " ".join(str(error).removeprefix(f"{folder}: ").split()))
        return
    for name in sorted(set(graph.signature_def) - set(signatures) - {_INITIALISER}):
        yield Finding(name, note="not asked: it takes or gives something that is no plain tensor")
    if not signatures:
        yield Finding("", "it has no signature that could be asked")
    for name, answer in zip(signatures, told, strict=True):
        yield _judged(name, answer)
    if any(_UNRESTORED.search(answer.message) for answer in told):
        yield Finding("", _COPIES)


def _check_weights(folder: Path, graph: meta_graph_pb2.MetaGraphDef) -> None:
    """The loader takes a model without this file for one without weights, and fails when they are read."""
    weights = any(node.op == "VarHandleOp" for node in graph.graph_def.node)
    if weights and not (folder / "variables" / "variables.index").is_file():
        raise ValueError("expected weights in variables/. Received: a folder without them")


def _askable(graph: meta_graph_pb2.MetaGraphDef) -> dict[str, meta_graph_pb2.SignatureDef]:
    """The signatures that a client can ask, all tensors of known dtypes; an initialiser gives none."""
    return {
        name: signature
        for name, signature in sorted(graph.signature_def.items())
        if all(info.dtype in cpp_loader.DTYPES for info in (*signature.inputs.values(), *signature.outputs.values()))
    }


def _ask(signature: meta_graph_pb2.SignatureDef) -> cpp_loader.Ask:
    feeds = [(info.name, _made_up(info)) for info in signature.inputs.values()]
    return cpp_loader.Ask(feeds, [info.name for info in signature.outputs.values()])


def _judged(name: str, told: cpp_loader.Told) -> Finding:
    if not told.code:
        return Finding(name)
    if unrestored := _UNRESTORED.search(told.message):
        return Finding(name, unrestored.group())
    words = told.message.partition("\n")[0]
    refused = told.code == _INVALID_ARGUMENT and not _NEVER_RUNS.search(told.message)
    if refused:  # zeros and empty strings may be no input for it
        return Finding(name, note=f"runs, and refused the made-up input: {words}")
    return Finding(name, words)


def _made_up(info: meta_graph_pb2.TensorInfo) -> np.ndarray:
    """Zeros or empty strings of the declared shape, 1 where it is free."""
    shape = [dim.size if dim.size >= 0 else 1 for dim in info.tensor_shape.dim]
    dtype = cpp_loader.DTYPES[info.dtype]
    return np.full(shape, b"", np.object_) if dtype is np.object_ else np.zeros(shape, dtype)
