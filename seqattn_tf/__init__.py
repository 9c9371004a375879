"""Keras recurrent models with attention you can look at.

`import seqattn_tf` loads no large libraries: subpackages and the names below load on first use, so that
`seqattn --help` is fast and programs on small devices run without TensorFlow.

>>> import seqattn_tf
>>> layer = seqattn_tf.Recurrent(seqattn_tf.GRUCell(64))  # TensorFlow loads here
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_ROOMS = (
    "core",
    "lite",
    "cells",
    "structured",
    "recurrent",
    "attention",
    "decoders",
    "encoders",
    "layers",
    "decoding",
    "text",
    "inputs",
    "outputs",
    "explain",
    "models",
    "lectures",
    "presets",
    "batch",
    "training",
    "export",
    "serving",
)
_NAMES = {  # name: the package that contains it
    "GRUCell": "cells",
    "LSTMCell": "cells",
    "CRF": "structured",
    "CRFModel": "structured",
    "LinearChain": "structured",
    "SemiMarkov": "structured",
    "ProjectiveTree": "structured",
    "SpanningTree": "structured",
    "RNNCell": "cells",
    "Recurrent": "recurrent",
    "Bidirectional": "recurrent",
    "Stack": "recurrent",
    "HierarchicalEncoder": "recurrent",
    "TreeRecurrent": "recurrent",
    "Attention": "attention",
    "AttentionPooling": "attention",
    "AveragePooling": "attention",
    "MemoryChain": "attention",
    "MemoryHops": "attention",
    "AttentionDecoder": "decoders",
    "LuongDecoder": "decoders",
    "StackedDecoder": "decoders",
    "PointerDecoder": "decoders",
    "gradient_flow": "lectures",
    "Classifier": "models",
    "Ensemble": "models",
    "Parser": "models",
    "Seq2Seq": "models",
    "Tagger": "models",
    "load": "models",
    "open_model": "presets",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        value = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
        globals()[name] = value  # later accesses do not call this function
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS, *_NAMES})
