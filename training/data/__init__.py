"""Where examples come from, and how they become batches."""

from seqattn_tf.training.data.pairs import Pair, Splits

__all__ = ["Pair", "Splits"]
