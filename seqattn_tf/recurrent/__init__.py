"""A cell over time, in one direction or both."""

from seqattn_tf.recurrent.network import Bidirectional, Recurrent

__all__ = ["Bidirectional", "Recurrent"]
