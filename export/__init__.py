"""Export to SavedModel for TensorFlow Serving and to LiteRT, both verified against the Keras model."""

from typing import Any

__all__ = ["Exported", "export", "export_model"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # loaded on first access, because serving an export needs no Keras
        from seqattn_tf.export import package

        return getattr(package, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
