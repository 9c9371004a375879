"""Where examples come from, and how they become batches."""

from seqattn_tf.training.data.examples import DataWarning, Example, Examples, Splits, from_text

__all__ = ["DataWarning", "Example", "Examples", "Splits", "from_text"]
