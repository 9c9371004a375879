"""Compositions: how the states of children become the state of their parent. One class per module, found by name."""

from seqattn_tf.recurrent.compositions.base import Composition
from seqattn_tf.recurrent.compositions.binary import BinaryComposition
from seqattn_tf.recurrent.compositions.child_sum import ChildSumComposition
from seqattn_tf.recurrent.compositions.tensor import TensorComposition

__all__ = ["BinaryComposition", "ChildSumComposition", "Composition", "TensorComposition"]
