"""Cells around a cell: regularised in training, or several to a step."""

from seqattn_tf.cells.wrappers.base import Drawn, WrapperCell
from seqattn_tf.cells.wrappers.deep import DeepTransitionCell
from seqattn_tf.cells.wrappers.dropout import DropoutCell
from seqattn_tf.cells.wrappers.skip import TimeSkipCell
from seqattn_tf.cells.wrappers.zoneout import ZoneoutCell

__all__ = ["DeepTransitionCell", "Drawn", "DropoutCell", "TimeSkipCell", "WrapperCell", "ZoneoutCell"]
