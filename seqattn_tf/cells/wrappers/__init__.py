"""Cells that wrap other cells: to regularize training, to skip time steps, or to combine several cells in one step."""

from seqattn_tf.cells.wrappers.base import Drawn, WrapperCell
from seqattn_tf.cells.wrappers.deep import DeepTransitionCell
from seqattn_tf.cells.wrappers.dropout import DropoutCell
from seqattn_tf.cells.wrappers.skip import TimeSkipCell
from seqattn_tf.cells.wrappers.zoneout import ZoneoutCell

__all__ = ["DeepTransitionCell", "Drawn", "DropoutCell", "TimeSkipCell", "WrapperCell", "ZoneoutCell"]
