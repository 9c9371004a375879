"""The binary TreeLSTM with a left and a right child: the N-ary TreeLSTM of Tai et al. (2015) with N = 2."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.linear import linear
from seqattn_tf.recurrent.compositions.base import TreeLSTM


@keras.saving.register_keras_serializable("seqattn_tf")
class BinaryComposition(TreeLSTM):
    """A binary TreeLSTM: left and right child have separate matrices, and each forget gate reads both children.

        [i o g] = [sig sig tanh](W x + U [h_1; h_2] + b)      f_k = sig(W_f x + U_k [h_1; h_2] + b_f)
        c = i * g + f_1 * c_1 + f_2 * c_2                     h = o * tanh(c)

    A missing child counts as zeros.

    Args:
        units: The size of each of the two states.

    >>> composition = BinaryComposition(4)
    >>> composition.build((None, 3))
    >>> hidden, memory = composition.leaf(composition.project(tf.ones([2, 3])))
    >>> hidden.shape.as_list()
    [2, 4]
    """

    name_in_registry = "binary"
    most_children = 2

    def build(self, input_shape: Any) -> None:
        """Create the projection, and one recurrent kernel for i, o, g, f_1 and f_2."""
        super().build(input_shape)
        shape = (2 * self.units, 5 * self.units)
        self.recurrent_kernel = self.add_weight(name="recurrent_kernel", shape=shape, initializer="orthogonal")

    def compose(self, projected: tf.Tensor, children: list[tf.Tensor]) -> list[tf.Tensor]:
        hidden, memory = children  # [n, 2, units]
        wide = 3 * self.units
        own = linear(tf.reshape(hidden, [-1, 2 * self.units]), self.recurrent_kernel)
        both = tf.reshape(own[:, wide:], [-1, 2, self.units])
        forget = tf.sigmoid(projected[:, None, wide:] + both)
        return self._states(projected[:, :wide] + own[:, :wide], tf.reduce_sum(forget * memory, axis=1))
