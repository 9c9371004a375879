"""The test harness for all recurrent networks."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from support.cells import assert_arguments_survive, mark_slow, randomize
from support.gradients import assert_slopes
from support.layers import random, roundtrip

UNITS, FEATURES, BATCH, TIME = 4, 3, 4, 5
LENGTHS = [5, 3, 1, 0]


def near(found, expected, tolerance=1e-10):
    """Compare two structures of tensors."""
    found, expected = tf.nest.flatten(found), tf.nest.flatten(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance)


class NetworkTests:
    """A harness; subclasses define `make(dtype)`, `kind`, `arguments` (all, not at their defaults) and `by_hand`.

    `by_hand(layer, row)` computes the results for one row in another way, as a list of `(numbers of the batch, numbers
    of the row)` to compare. For other inputs, they also define `inputs`, `mask` and `more` (further call arguments).
    """

    inputs = random(BATCH, TIME, FEATURES, dtype="float64")
    mask = np.arange(TIME) < np.array(LENGTHS)[:, None]
    more = {}
    not_stored = ()
    quick = ()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        mark_slow(
            cls,
            compiled=lambda self, layer: self.check_compiled(layer),
            mixed_precision=lambda self: self.check_mixed_precision(),
            fit_and_reload=lambda self, tmp_path: self.check_fit_and_reload(tmp_path),
        )

    @pytest.fixture(scope="class")
    @classmethod
    def layer(cls):
        made = cls().make(dtype="float64")
        made(tf.constant(cls.inputs), **cls.more)  # builds the layer
        return randomize(made, scale=0.5)

    def dirty(self):
        """Return the inputs with NaN in the padding."""
        return np.where(self.mask[..., None], self.inputs, np.nan)

    def test_rows_are_what_they_are_by_hand_whatever_stands_in_the_padding(self, layer):
        found = layer(tf.constant(self.dirty()), mask=tf.constant(self.mask), **self.more)
        assert (found[0].numpy()[self.empty(found[0])] == 0).all()
        for row in range(BATCH):
            for ours, theirs in self.by_hand(layer, row, found):
                np.testing.assert_allclose(ours, theirs, atol=1e-10)

    def empty(self, outputs):
        """Return where outputs must be zero."""
        return ~self.mask

    def run(self, layer, inputs, mask):
        return layer(inputs, mask=mask, **self.more)

    def test_unknown_shapes_and_short_times(self, layer):
        spec = [None] * (self.inputs.ndim - 1)
        signature = [tf.TensorSpec([*spec, FEATURES], tf.float64), tf.TensorSpec(spec, tf.bool)]
        traced = tf.function(functools.partial(self.run, layer), input_signature=signature, autograph=False)
        for time in (TIME, 1, 0):
            inputs, mask = tf.constant(self.inputs[:, :time]), tf.constant(self.mask[:, :time])
            near(traced(inputs, mask), self.run(layer, inputs, mask))
        near(
            self.run(layer, tf.constant(self.inputs), tf.ones(self.mask.shape, tf.bool)),
            layer(self.inputs, **self.more),
        )

    def test_gradient_in_float64_whatever_stands_in_the_padding(self, layer):
        others = [v.value for v in layer.non_trainable_variables]

        def loss(inputs, *values):
            found, _ = layer.stateless_call(list(values), others, inputs, mask=tf.constant(self.mask), **self.more)
            found = [one for one in tf.nest.flatten(found) if one.dtype.is_floating]
            return tf.add_n([tf.reduce_sum(tf.sin((1.0 + i) * one)) for i, one in enumerate(found)])

        weights = [w.numpy() for w in layer.trainable_variables]
        tensors = [tf.constant(a) for a in (self.dirty(), *weights)]
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            value = loss(*tensors)
        gradients = tape.gradient(value, tensors)
        assert all(np.isfinite(g).all() and np.any(g != 0) for g in gradients)
        assert (gradients[0].numpy()[~self.mask] == 0).all()
        self.check_slopes(loss, [self.inputs, *weights])

    def check_slopes(self, loss, arrays):
        assert_slopes(loss, arrays, directions=2)

    def test_every_argument_survives_saving(self, layer):
        assert_arguments_survive(self.kind, self.arguments, self.not_stored)
        again = roundtrip(layer)
        again(tf.constant(self.inputs), **self.more)
        again.set_weights(layer.get_weights())
        near(again(self.inputs, **self.more), layer(self.inputs, **self.more), 0)

    def check_compiled(self, layer):
        def run(inputs, mask):
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                found = tf.nest.flatten(self.run(layer, inputs, mask))
                loss = tf.add_n([tf.reduce_sum(one**2) for one in found])
            return found, tape.gradient(loss, [inputs, *(v.value for v in layer.trainable_variables)])

        arguments = tf.constant(self.inputs), tf.constant(self.mask)
        near(tf.function(run, jit_compile=True)(*arguments), run(*arguments), 1e-9)

    def check_mixed_precision(self):
        inputs, mask = tf.constant(self.inputs, tf.float32), tf.constant(self.mask)
        more = {name: tf.cast(one, tf.float32) if one.dtype.is_floating else one for name, one in self.more.items()}
        single = self.make(dtype="float32")
        expected = single(inputs, mask=mask, **more)[0]
        for dtype in ("mixed_bfloat16", "mixed_float16"):
            half = self.make(dtype=dtype)
            half(inputs, **more)
            half.set_weights(single.get_weights())
            outputs = half(inputs, mask=mask, **more)[0]
            assert outputs.dtype == dtype.removeprefix("mixed_")
            np.testing.assert_allclose(tf.cast(outputs, tf.float32), expected, atol=0.05)

    def check_fit_and_reload(self, folder):
        data = {"inputs": self.inputs.astype("float32"), "mask": self.mask}
        data |= {name: one.numpy() for name, one in self.more.items()}
        inputs = {name: keras.Input(one.shape[1:], name=name, dtype=str(one.dtype)) for name, one in data.items()}
        found = self.make(dtype="float32")(**inputs)
        model = keras.Model(inputs, keras.layers.Dense(1)(found[0]))
        model.compile("adam", "mse", run_eagerly=True)
        model.fit(data, np.ones(model(data).shape), verbose=0)
        model.save(folder / "m.keras")
        again = keras.models.load_model(folder / "m.keras")
        np.testing.assert_allclose(again(data), model(data), atol=1e-6)


class TimeNetworkTests(NetworkTests):
    """A harness for networks over time: a row alone, without its padding and mask, has the same results."""

    def by_hand(self, layer, row, found):
        outputs, *states = found
        length = LENGTHS[row]
        more = {name: one[row : row + 1] for name, one in self.more.items()}
        alone, *alone_states = self.alone(layer, tf.constant(self.inputs[row : row + 1, :length]), **more)
        yield outputs[row, :length], alone[0]
        for state, other in zip(tf.nest.flatten(states), tf.nest.flatten(alone_states), strict=True):
            yield state[row], other[0]

    def alone(self, layer, inputs, **more):
        return layer(inputs, **more)
