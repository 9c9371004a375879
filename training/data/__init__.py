"""Where examples come from, and how they become batches."""

from seqattn_tf.training.data.examples import Example, Examples, Splits, from_text

__all__ = ["Example", "Examples", "Splits", "from_text"]
