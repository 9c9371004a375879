"""Which ops an exported graph may hold: those that TensorFlow Serving's official binary links.

That is TensorFlow's own ops and those of TensorFlow Text; no Python function, no op of another library.
"""

from pathlib import Path

import tensorflow_text  # noqa: F401  registers its ops
from tensorflow.python.framework import op_def_registry  # what this process has: TensorFlow and TensorFlow Text

from seqattn_tf.export import meta_graph

_PYTHON_OPS = frozenset({"EagerPyFunc", "PyFunc", "PyFuncStateless"})


def ops_of(folder: Path) -> set[str]:
    """Every op of a SavedModel, its functions included."""
    return meta_graph.ops_of(meta_graph.read(folder).graph_def)


def unservable(ops: set[str]) -> list[str]:
    """The ops that TensorFlow Serving would refuse.

    >>> unservable({"MatMul", "NormalizeUTF8", "EagerPyFunc", "Addons>GatherTree"})
    ['Addons>GatherTree', 'EagerPyFunc']
    """
    return sorted(op for op in ops if op in _PYTHON_OPS or op_def_registry.get(op) is None)


def check(folder: Path) -> set[str]:
    """The ops of a SavedModel, after making sure that each can be served."""
    ops = ops_of(folder)
    if refused := unservable(ops):
        raise ValueError(f"{folder}: expected ops that TensorFlow Serving links. Received: {refused}")
    return ops
