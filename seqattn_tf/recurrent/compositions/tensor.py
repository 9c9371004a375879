"""The recursive neural tensor network: multiplicative interactions between children (Socher et al. 2013)."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.linear import linear
from seqattn_tf.recurrent.compositions.base import Composition


@keras.saving.register_keras_serializable("seqattn_tf")
class TensorComposition(Composition):
    """A neural tensor composition: every unit of the parent is a bilinear form of its two children.

        p = [h_1; h_2]      h_u = tanh(p' V_u p + (U p)_u + (W x + b)_u)      at a leaf, h = tanh(W x + b)

    A missing child counts as zeros.

    Args:
        units: The size of the state. The tensor has `4 units^3` entries.

    >>> composition = TensorComposition(4)
    >>> composition.build((None, 3))
    >>> (hidden,) = composition.leaf(composition.project(tf.ones([2, 3])))
    >>> hidden.shape.as_list()
    [2, 4]
    """

    name_in_registry = "tensor"
    most_children = 2

    @property
    def projected_size(self) -> int:
        return self.units

    def build(self, input_shape: Any) -> None:
        """Create the projection, `recurrent_kernel [2 units, units]` and `tensor [2 units, units, 2 units]`."""
        super().build(input_shape)
        pair = 2 * self.units
        self.recurrent_kernel = self.add_weight(name="recurrent_kernel", shape=(pair, self.units))
        spread = keras.initializers.RandomNormal(stddev=1 / pair)
        self.tensor = self.add_weight(name="tensor", shape=(pair, self.units, pair), initializer=spread)

    def leaf(self, projected: tf.Tensor) -> list[tf.Tensor]:
        """Compute `tanh(W x + b)`."""
        return [tf.tanh(projected)]

    def compose(self, projected: tf.Tensor, children: list[tf.Tensor]) -> list[tf.Tensor]:
        pair = tf.reshape(children[0], [-1, 2 * self.units])
        half = linear(pair, tf.reshape(self.tensor, [2 * self.units, -1]))  # p' V: [n, units x 2 units]
        bilinear = tf.linalg.matvec(tf.reshape(half, [-1, self.units, 2 * self.units]), pair)
        return [tf.tanh(bilinear + linear(pair, self.recurrent_kernel) + projected)]
