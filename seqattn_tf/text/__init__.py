"""Text processing in the graph: tokenizers that are saved with the model and run inside it."""

from seqattn_tf.text.symbols import SymbolTokenizer

__all__ = ["SymbolTokenizer"]
