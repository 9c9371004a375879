"""Data for training: reading examples and turning them into batches."""

from seqattn_tf.training.data.examples import DataWarning, Example, Examples, Splits, from_text, hold_out

__all__ = ["DataWarning", "Example", "Examples", "Splits", "from_text", "hold_out"]
