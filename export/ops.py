"""Which ops an exported graph may hold: those that TensorFlow Serving's official binary links.

That is TensorFlow's own ops and those of TensorFlow Text; no Python function, no op of another library.
"""

from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

PYTHON_OPS = frozenset({"EagerPyFunc", "PyFunc", "PyFuncStateless"})
TEXT_OPS = frozenset(
    {
        "CaseFoldUTF8",
        "FastWordpieceDetokenize",
        "FastWordpieceTokenizeWithOffsets",
        "NormalizeUTF8",
        "NormalizeUTF8WithOffsetsMap",
        "RegexSplitWithOffsets",
        "SentencepieceDetokenizeOp",
        "SentencepieceOp",
        "SentencepieceTokenizeOp",
        "SentencepieceTokenizeWithOffsetsOp",
        "WhitespaceTokenizeWithOffsets",
        "WhitespaceTokenizeWithOffsetsV2",
        "WordpieceTokenizeWithOffsets",
    }
)


def ops_of(folder: Path) -> set[str]:
    """Every op of a SavedModel, its functions included."""
    stored = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    found = set()
    for meta_graph in stored.meta_graphs:
        graph = meta_graph.graph_def
        found |= {node.op for node in graph.node}
        functions = {function.signature.name for function in graph.library.function}
        found |= {node.op for function in graph.library.function for node in function.node_def}
        found -= functions
    return found


def unservable(ops: set[str]) -> list[str]:
    """The ops that TensorFlow Serving would refuse.

    >>> unservable({"MatMul", "NormalizeUTF8", "EagerPyFunc", "Addons>GatherTree"})
    ['Addons>GatherTree', 'EagerPyFunc']
    """
    core = {op for op in ops if hasattr(tf.raw_ops, op)}
    return sorted(ops - TEXT_OPS - (core - PYTHON_OPS))


def check(folder: Path) -> set[str]:
    """The ops of a SavedModel, after making sure that each can be served."""
    ops = ops_of(folder)
    if refused := unservable(ops):
        raise ValueError(f"{folder}: expected ops that TensorFlow Serving links. Received: {refused}")
    return ops
