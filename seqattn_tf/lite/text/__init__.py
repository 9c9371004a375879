"""How texts are cut into symbols, in plain Python."""

from seqattn_tf.lite.text.cut import Texts, learn
from seqattn_tf.lite.text.rules import SymbolRules

__all__ = ["SymbolRules", "Texts", "learn"]
