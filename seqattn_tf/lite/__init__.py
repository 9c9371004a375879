"""Everything that a device needs without TensorFlow: fields, targets, answers and the LiteRT runtime.

The runtime includes exact inference in NumPy.
"""

from typing import Any

__all__ = ["LiteModel"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # loaded on first access, because fields and targets need no interpreter
        from seqattn_tf.lite.runtime import LiteModel

        return LiteModel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
