"""Text in the graph: tokenisers that are saved with the model and run inside it.

`SymbolRules` is plain Python and loads without TensorFlow; `SymbolTokenizer` loads it on first use.
"""

from typing import Any

from seqattn_tf.text.cut import Texts, learn
from seqattn_tf.text.rules import SymbolRules

__all__ = ["SymbolRules", "SymbolTokenizer", "Texts", "learn"]


def __getattr__(name: str) -> Any:
    if name == "SymbolTokenizer":
        from seqattn_tf.text.symbols import SymbolTokenizer

        return SymbolTokenizer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
