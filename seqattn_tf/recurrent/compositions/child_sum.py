"""The child-sum TreeLSTM, for any number of unordered children (Tai et al. 2015)."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.linear import linear
from seqattn_tf.recurrent.compositions.base import TreeLSTM


@keras.saving.register_keras_serializable("seqattn_tf")
class ChildSumComposition(TreeLSTM):
    """A child-sum TreeLSTM: a parent reads the sum of its children and has a forget gate for each of them.

        [i o g] = [sig sig tanh](W x + U sum_k h_k + b)      f_k = sig(W_f x + U_f h_k + b_f)
        c = i * g + sum_k f_k * c_k                          h = o * tanh(c)

    Args:
        units: The size of each of the two states.

    >>> composition = ChildSumComposition(4)
    >>> composition.build((None, 3))
    >>> hidden, memory = composition.leaf(composition.project(tf.ones([2, 3])))
    >>> hidden.shape.as_list()
    [2, 4]
    """

    name_in_registry = "child_sum"

    def build(self, input_shape: Any) -> None:
        """Create the projection, and one recurrent kernel for i, o, g and f."""
        super().build(input_shape)
        shape = (self.units, self.projected_size)
        self.recurrent_kernel = self.add_weight(name="recurrent_kernel", shape=shape, initializer="orthogonal")

    def compose(self, projected: tf.Tensor, children: list[tf.Tensor]) -> list[tf.Tensor]:
        hidden, memory = children  # [n, children, units]
        wide = 3 * self.units
        sums = linear(tf.reduce_sum(hidden, axis=1), self.recurrent_kernel[:, :wide])
        forget = tf.sigmoid(projected[:, None, wide:] + linear(hidden, self.recurrent_kernel[:, wide:]))
        return self._states(projected[:, :wide] + sums, tf.reduce_sum(forget * memory, axis=1))
