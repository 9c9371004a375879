"""Tokenization and vocabularies in plain Python."""

from seqattn_tf.lite.text.cut import Texts, learn
from seqattn_tf.lite.text.rules import SymbolRules

__all__ = ["SymbolRules", "Texts", "learn"]
