"""The ops that an exported graph may contain: those that TensorFlow Serving's official binary links.

These are the ops of TensorFlow and TensorFlow Text, without Python functions and ops of other libraries.
"""

from pathlib import Path

import tensorflow_text  # noqa: F401  registers its ops
from tensorflow.python.framework import op_def_registry  # the ops of this process: TensorFlow and TensorFlow Text

from seqattn_tf.export import meta_graph

_PYTHON_OPS = frozenset({"EagerPyFunc", "PyFunc", "PyFuncStateless"})


def ops_of(folder: Path) -> set[str]:
    """Return all ops of a SavedModel and its functions."""
    return meta_graph.ops_of(meta_graph.read(folder).graph_def)


def unservable(ops: set[str]) -> list[str]:
    """Return the ops that TensorFlow Serving would reject.

    >>> unservable({"MatMul", "NormalizeUTF8", "EagerPyFunc", "Addons>GatherTree"})
    ['Addons>GatherTree', 'EagerPyFunc']
    """
    return sorted(op for op in ops if op in _PYTHON_OPS or op_def_registry.get(op) is None)


def check(folder: Path) -> set[str]:
    """Return the ops of a SavedModel after checking that all of them can be served."""
    ops = ops_of(folder)
    if refused := unservable(ops):
        raise ValueError(f"{folder}: expected ops that TensorFlow Serving links. Received: {refused}")
    return ops
