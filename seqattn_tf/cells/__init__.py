"""One step of recurrence each: `Cell` is the contract, a variant is one file."""

from seqattn_tf.cells.base import Cell
from seqattn_tf.cells.gru import GRUCell
from seqattn_tf.cells.lstm import LSTMCell

__all__ = ["Cell", "GRUCell", "LSTMCell"]
