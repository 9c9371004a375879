"""Recurrent cells: each computes one time step. `Cell` defines the interface, and every variant is one module."""

from seqattn_tf.cells.base import Cell, cell_of
from seqattn_tf.cells.gru import GRUCell
from seqattn_tf.cells.ladder import AccumulateCell, AccumulateForgetCell, AccumulateInputCell
from seqattn_tf.cells.layer_norm import LayerNormGRUCell, LayerNormLSTMCell
from seqattn_tf.cells.lstm import LSTMCell
from seqattn_tf.cells.memory import MemoryCell
from seqattn_tf.cells.multiplicative import MultiplicativeLSTMCell, MultiplicativeRNNCell
from seqattn_tf.cells.output import OutputCell
from seqattn_tf.cells.peephole import PeepholeLSTMCell
from seqattn_tf.cells.rnn import RNNCell
from seqattn_tf.cells.wrappers import DeepTransitionCell, DropoutCell, TimeSkipCell, ZoneoutCell

__all__ = [
    "AccumulateCell",
    "AccumulateForgetCell",
    "AccumulateInputCell",
    "Cell",
    "DeepTransitionCell",
    "DropoutCell",
    "GRUCell",
    "LSTMCell",
    "LayerNormGRUCell",
    "LayerNormLSTMCell",
    "MemoryCell",
    "MultiplicativeLSTMCell",
    "MultiplicativeRNNCell",
    "OutputCell",
    "PeepholeLSTMCell",
    "RNNCell",
    "TimeSkipCell",
    "ZoneoutCell",
    "cell_of",
]
