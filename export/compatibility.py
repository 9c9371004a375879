"""A check whether a SavedModel, ours or not, runs in TensorFlow Serving: its ops, its loader, and its signatures."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tensorflow.core.protobuf import meta_graph_pb2

from seqattn_tf.export import cpp_loader, meta_graph, ops
from seqattn_tf.export.versions import is_saved_model, version_folders

_INVALID_ARGUMENT = 3
_INITIALISER = "__saved_model_init_op"  # run by TensorFlow, never by a client
# Errors that the session raises before running anything, with any input.
_NEVER_RUNS = re.compile(
    "must feed a value for placeholder|fed and fetched|fed more than once|at least one target to fetch"
    "|Cannot assign a device|No OpKernel was registered"
)
_UNRESTORED = re.compile(r"Could not find variable \S+(?=\.)")
_COPIES = (
    "its weights are saved as copies that TensorFlow's C++ loader restores, while its signatures read the originals: "
    "tf.saved_model.save does this for an object around a Keras 3 model. "
    "Export it again: seqattn export RUN models/NAME, or model.export() for a Keras model"
)


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result for one signature, or for the whole model if the signature has no name."""

    signature: str
    fault: str = ""  # empty if it runs
    note: str = ""  # anything that could not be checked

    def __str__(self) -> str:
        what = f"signature {self.signature}: " if self.signature else ""
        return what + (self.fault or self.note or "answers")


def check(folder: Path) -> dict[Path, list[Finding]]:
    """Return the findings for each version: for the folder itself, the versions in it, or those of the models in it.

    Raises:
        ValueError: If there is no SavedModel.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(
            f"{folder}: expected a folder. Received: {'a file' if folder.exists() else 'a path that does not exist'}"
        )
    found = [folder] if is_saved_model(folder) else version_folders(folder).values()
    if not found:
        models = sorted(child for child in folder.iterdir() if child.is_dir())
        found = [version for model in models for version in version_folders(model).values()]
    if not found:
        raise ValueError(
            f"{folder}: expected a SavedModel, or a folder with versions of one. Received: a folder with neither"
        )
    return {version: list(_findings(version)) for version in found}


def _findings(folder: Path) -> Iterator[Finding]:
    try:
        graph = meta_graph.read(folder)
        if refused := ops.unservable(meta_graph.ops_of(graph.graph_def)):
            yield Finding("", f"TensorFlow Serving does not link these ops: {', '.join(refused)}")
        _check_weights(folder, graph)
        signatures = _askable(graph)
        results = cpp_loader.ask(folder, [_ask(signature) for signature in signatures.values()])
    except ValueError as error:
        yield Finding("", " ".join(str(error).removeprefix(f"{folder}: ").split()))
        return
    for name in sorted(set(graph.signature_def) - set(signatures) - {_INITIALISER}):
        yield Finding(name, note="not run: an input or output is not a dense tensor")
    if not signatures:
        yield Finding("", "it has no signature that can be run")
    for name, answer in zip(signatures, results, strict=True):
        yield _judged(name, answer)
    if any(_UNRESTORED.search(answer.message) for answer in results):
        yield Finding("", _COPIES)


def _check_weights(folder: Path, graph: meta_graph_pb2.MetaGraphDef) -> None:
    """Check that the weights exist, since the loader accepts a model without them and fails when they are read."""
    weights = any(node.op == "VarHandleOp" for node in graph.graph_def.node)
    if weights and not (folder / "variables" / "variables.index").is_file():
        raise ValueError("expected weights in variables/. Received: a folder without them")


def _askable(graph: meta_graph_pb2.MetaGraphDef) -> dict[str, meta_graph_pb2.SignatureDef]:
    """Return the signatures that a client can run, where all tensors have known dtypes."""
    return {
        name: signature
        for name, signature in sorted(graph.signature_def.items())
        if all(info.dtype in cpp_loader.DTYPES for info in (*signature.inputs.values(), *signature.outputs.values()))
    }


def _ask(signature: meta_graph_pb2.SignatureDef) -> cpp_loader.RunRequest:
    feeds = [(info.name, _made_up(info)) for info in signature.inputs.values()]
    return cpp_loader.RunRequest(feeds, [info.name for info in signature.outputs.values()])


def _judged(name: str, result: cpp_loader.RunResult) -> Finding:
    if not result.code:
        return Finding(name)
    if unrestored := _UNRESTORED.search(result.message):
        return Finding(name, unrestored.group())
    words = result.message.partition("\n")[0]
    refused = result.code == _INVALID_ARGUMENT and not _NEVER_RUNS.search(result.message)
    if refused:  # zeros and empty strings may be invalid input
        return Finding(name, note=f"runs, but rejected the sample input: {words}")
    return Finding(name, words)


def _made_up(info: meta_graph_pb2.TensorInfo) -> np.ndarray:
    """Return zeros or empty strings of the declared shape, with size 1 for unknown dimensions."""
    shape = [dim.size if dim.size >= 0 else 1 for dim in info.tensor_shape.dim]
    dtype = cpp_loader.DTYPES[info.dtype]
    return np.full(shape, b"", np.object_) if dtype is np.object_ else np.zeros(shape, dtype)
