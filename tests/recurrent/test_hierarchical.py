"""Recurrent networks over sequences of sequences."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.layers import ALL, random
from support.networks import BATCH, FEATURES, LENGTHS, TIME, UNITS, NetworkTests

from seqattn_tf.core.linear import linear
from seqattn_tf.core.masking import masked_softmax
from seqattn_tf.recurrent import Bidirectional, HierarchicalEncoder, Recurrent, Stack

INNER = 3
INNER_LENGTHS = np.array([[3, 1, 0, 2, 3], [2, 2, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]])


@keras.saving.register_keras_serializable("seqattn_tf_tests")
class Pool(keras.layers.Layer):
    """Attention pooling `softmax(v . (W h))`, whose results are twice as wide."""

    def build(self, values_shape):
        self.wide = self.add_weight(name="wide", shape=(values_shape[-1], 2 * values_shape[-1]))
        self.look = self.add_weight(name="look", shape=(2 * values_shape[-1], 1))
        self.built = True

    def call(self, values, mask=None):
        wide = linear(values, self.wide)
        weights = masked_softmax(linear(wide, self.look)[..., 0], mask)
        return tf.squeeze(tf.matmul(weights[:, None], wide), 1), weights

    def compute_mask(self, values, mask=None):
        return None

    def get_config(self):
        return super().get_config()


class TestHierarchical(NetworkTests):
    inputs = random(BATCH, TIME, INNER, FEATURES, dtype="float64")
    mask = np.arange(INNER) < INNER_LENGTHS[..., None]
    kind = HierarchicalEncoder
    arguments = {"inner": Recurrent("gru", units=7), "outer": Recurrent("gru", units=5), "pool": Pool(), **ALL}

    def make(self, dtype):
        inner = Bidirectional("gru", units=2, dtype=dtype)
        return HierarchicalEncoder(inner, Recurrent("lstm", units=UNITS, dtype=dtype), dtype=dtype, **ALL)

    def empty(self, outputs):
        return ~self.mask.any(-1)

    def summary(self, layer, inner, states):
        return layer.inner.final_output(states), None

    def by_hand(self, layer, row, found):
        """Compute every unmasked inner sequence separately, then the sequence of results."""
        returned, found = found, layer.read(tf.constant(self.dirty()), tf.constant(self.mask))
        yield returned[0][row], found.outputs[row]
        yield returned[1][row], found.states[0][row]
        summaries, places = [], []
        for place, length in enumerate(INNER_LENGTHS[row]):
            if not length:
                assert (found.inner_outputs[row, place].numpy() == 0).all()
                continue
            inner, _, states = layer.inner.read(tf.constant(self.inputs[row, place : place + 1, :length]))
            yield found.inner_outputs[row, place, :length], inner[0]
            summary, weights = self.summary(layer, inner, states)
            if weights is not None:
                yield found.weights[row, place, :length], weights[0]
            summaries.append(summary)
            places.append(place)
        if not places:
            return
        outputs, last, states = layer.outer.read(tf.stack(summaries, 1))
        yield found.outputs.numpy()[row, places], outputs[0]
        yield found.last[row], last[0]
        for state, other in zip(found.states, states, strict=True):
            yield state[row], other[0]


class TestPooled(TestHierarchical):
    def make(self, dtype):
        inner, outer = Recurrent("gru", units=UNITS, dtype=dtype), Recurrent("lstm", units=UNITS, dtype=dtype)
        return HierarchicalEncoder(inner, outer, Pool(dtype=dtype), dtype=dtype, **ALL)

    def summary(self, layer, inner, states):
        return layer.pool(inner)


@pytest.mark.slow
class TestOverStacks(TestHierarchical):
    def make(self, dtype):
        inner, outer = Stack("lstm", units=UNITS, depth=2, dtype=dtype), Bidirectional("gru", units=2, dtype=dtype)
        return HierarchicalEncoder(inner, outer, dtype=dtype, **ALL)

    def summary(self, layer, inner, states):
        return states[-1][0], None


def test_lengths_of_rows_agree_with_the_others():
    assert [int(row.any() and np.nonzero(row)[0].max() + 1) for row in INNER_LENGTHS] == LENGTHS


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"inner: expected Recurrent, Bidirectional or Stack .*Received: \['gru'\]"):
        HierarchicalEncoder("gru", Recurrent("gru", units=3))
    layer = HierarchicalEncoder(Recurrent("gru", units=3), Recurrent("gru", units=3))
    layer.build((None, None, None, FEATURES))
    with pytest.raises(ValueError, match=r"inputs: expected \[batch, outer time, inner time, features\]"):
        layer(tf.zeros([2, 3, FEATURES]))
    with pytest.raises(ValueError, match="mask: expected booleans"):
        layer(tf.zeros([2, 3, 4, FEATURES]), mask=tf.ones([2, 3, 4]))
