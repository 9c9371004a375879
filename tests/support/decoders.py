"""The test harness for all decoders; each member defines its construction and inputs."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from support.gradients import assert_slopes
from support.layers import random, roundtrip

BATCH, SOURCE, TARGET, WIDTH = 3, 4, 5, 6
MASK = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]], bool)
VALUES, SUMMARY = random(BATCH, SOURCE, WIDTH), random(BATCH, WIDTH, seed=1)


class DecoderTests:
    """A harness; subclasses define `make(dtype)`, `given` (int32 `[batch, target]`) and `arguments` (no defaults)."""

    given: np.ndarray
    arguments: dict

    @classmethod
    def make(cls, dtype="float32"):
        """Return a decoder without dropout."""
        raise NotImplementedError

    @classmethod
    def built(cls, dtype="float32"):
        decoder = cls.make(dtype)
        decoder.build((None, None), (None, None, WIDTH), (None, WIDTH))
        return decoder

    @pytest.fixture(scope="class")
    @classmethod
    def decoder(cls):
        return cls.built()

    def inputs(self, dtype="float32"):
        return tf.constant(self.given), tf.constant(VALUES, dtype), tf.constant(SUMMARY, dtype), tf.constant(MASK)

    def test_over_time_equals_the_steps_one_by_one(self, decoder):
        given, values, summary, mask = self.inputs()
        logits, weights = decoder(given, values, summary, mask=mask)
        memory, state = decoder.begin(values, mask, summary)
        for t in range(TARGET):
            step_logits, step_weights, state = decoder.step(given[:, t], state, memory)
            np.testing.assert_allclose(step_logits[:2], logits[:2, t], atol=1e-5)
            np.testing.assert_allclose(step_weights, weights[:, t], atol=1e-6)

    def test_padded_row_equals_the_row_alone(self, decoder):
        given, values, summary, mask = self.inputs()
        logits, weights = decoder(given, values, summary, mask=mask)
        keep = np.flatnonzero(MASK[1])
        alone, alone_weights = self.alone(decoder, given[1:2], tf.gather(values[1:2], keep, axis=1), summary[1:2], keep)
        np.testing.assert_allclose(alone, self.kept(logits[1:2], keep), atol=1e-5)
        weights = tf.gather(tf.reshape(weights[1:2], [1, TARGET, -1, SOURCE]), keep, axis=3)
        np.testing.assert_allclose(alone_weights, tf.reshape(weights, [1, TARGET, -1]), atol=1e-6)

    def alone(self, decoder, given, values, summary, keep):
        return decoder(given, values, summary)

    def kept(self, logits, keep):
        return logits

    def test_fully_masked_row_reads_nothing(self, decoder):
        given, values, summary, mask = self.inputs()
        logits, weights = decoder(given, values, summary, mask=mask)
        assert np.isfinite(logits).all()
        assert (weights[2].numpy() == 0).all()

    def test_what_stands_in_the_padding_reaches_nothing(self, decoder):
        given, values, summary, mask = self.inputs()
        dirty = tf.where(mask[..., None], values, float("nan"))
        with tf.GradientTape() as tape:
            logits, _ = decoder(given, dirty, summary, mask=mask)
            loss = tf.reduce_sum(logits[:2] ** 2)
        np.testing.assert_allclose(logits, decoder(given, values, summary, mask=mask)[0], atol=1e-6)
        gradients = tape.gradient(loss, decoder.trainable_variables, unconnected_gradients="zero")
        assert all(np.isfinite(tf.convert_to_tensor(gradient)).all() for gradient in gradients)

    def test_states_that_are_given(self, decoder):
        """States can come from the summary or from the caller; without either, the cell's are used.

        Others are rejected.
        """
        given, values, summary, mask = self.inputs()
        first = decoder.begin(values, mask, summary)[1].cell
        expected = decoder(given, values, summary, mask=mask)
        for one, other in zip(decoder(given, values, initial_state=first, mask=mask), expected, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(decoder.begin(VALUES, MASK, initial_state=first)[1].cell[0], first[0])
        with pytest.raises(ValueError, match=r"summary: expected \[batch, units\]; pass states as initial_state="):
            decoder.begin(values, mask, first)
        with pytest.raises(ValueError, match="initial_state: expected either initial_state or summary"):
            decoder(given, values, summary, initial_state=first)
        with pytest.raises(ValueError, match=r"initial_state: expected \[.*Received: \[\(3, 6\)\]"):
            decoder(given, values, initial_state=[summary])
        with pytest.raises(ValueError, match="summary: expected a call with a summary, as when the layer was built"):
            decoder(given, values)
        other = self.make()
        other(given, values)
        zeros = [tf.zeros([BATCH, size]) for size in other.state_size]
        for one, same in zip(other(given, values), other(given, values, initial_state=zeros), strict=True):
            np.testing.assert_array_equal(one, same)
        with pytest.raises(ValueError, match="summary: expected a call without a summary, as when the layer was built"):
            other(given, values, summary)

    def test_unknown_shapes(self, decoder):
        def run(given, values, summary, mask):
            return decoder(given, values, summary, mask=mask)[0]

        specs = [tf.TensorSpec([None] * (a.shape.rank - 1) + [a.shape[-1]], a.dtype) for a in self.inputs()]
        specs[0], specs[3] = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None], tf.bool)
        plain = tf.function(run, input_signature=specs, autograph=False)
        given, values, summary, mask = self.inputs()
        np.testing.assert_allclose(plain(*self.inputs()), run(*self.inputs()), atol=1e-5)
        assert plain(given[:, :0], values, summary, mask).shape[1] == 0

    def slopes(self, decoder, compiled):
        """Return value and gradients, with the compiled loop in a graph or step by step."""
        given, values, summary, mask = self.inputs(decoder.dtype)
        decoder.jit_compile = compiled

        def both():
            with tf.GradientTape() as tape:
                tape.watch([values, summary])
                logits, weights = decoder(given, values, summary, mask=mask, training=True)
                loss = tf.reduce_sum(tf.tanh(logits[:2])) + tf.reduce_sum(weights**2)
            sources = [values, summary, *(v.value for v in decoder.trainable_variables)]
            return loss, tape.gradient(loss, sources, unconnected_gradients="zero")

        return (tf.function(both, autograph=False) if compiled else both)()

    @pytest.mark.slow
    def test_compiled_loop_has_the_gradients_of_the_plain_one(self):
        self.check_compiled_loop(self.built("float64"))

    def check_compiled_loop(self, decoder):
        (one, gradients), (other, expected) = self.slopes(decoder, True), self.slopes(decoder, False)
        np.testing.assert_allclose(one, other)
        for gradient, right in zip(gradients, expected, strict=True):
            np.testing.assert_allclose(tf.convert_to_tensor(gradient), tf.convert_to_tensor(right), atol=1e-10)

    def test_gradient_in_float64(self):
        decoder = self.built("float64")
        given, _, _, mask = self.inputs("float64")

        def loss(values, summary, *weights):
            rest = [v.value for v in decoder.non_trainable_variables]
            (logits, alpha), _ = decoder.stateless_call(list(weights), rest, given, values, summary, mask=mask)
            return tf.reduce_sum(tf.tanh(logits[:2])) + tf.reduce_sum(alpha**2)

        trainable = [v.numpy() for v in decoder.trainable_variables]
        assert_slopes(
            loss, [VALUES.astype("float64"), SUMMARY.astype("float64"), *trainable], tolerance=1e-5, directions=2
        )

    def test_every_argument_survives(self, decoder):
        config = roundtrip(decoder).get_config()
        assert {key: config[key] for key in self.arguments} == self.arguments

    @pytest.mark.slow
    def test_mixed_precision_stays_near_single(self, decoder):
        half = self.built("mixed_bfloat16")
        half.set_weights(decoder.get_weights())
        given, values, summary, mask = self.inputs()
        logits, weights = half(given, values, summary, mask=mask)
        assert logits.dtype == weights.dtype == tf.bfloat16
        expected, _ = decoder(given, values, summary, mask=mask)
        np.testing.assert_allclose(tf.cast(logits, tf.float32)[:2], expected[:2], atol=0.2, rtol=0.05)

    @pytest.mark.slow
    def test_xla_equals_plain(self, decoder):
        run = tf.function(lambda *a: decoder(*a[:3], mask=a[3]), jit_compile=True, autograph=False)
        for one, other in zip(run(*self.inputs()), decoder(*self.inputs()[:3], mask=self.inputs()[3]), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)

    @pytest.mark.slow
    def test_functional_model_fits_and_reloads(self, tmp_path, run_eagerly=False):
        shapes = {"given": (None,), "values": (None, WIDTH), "summary": (WIDTH,)}
        inputs = {n: keras.Input(s, name=n, dtype="int32" if n == "given" else None) for n, s in shapes.items()}
        logits, _ = self.make()(*inputs.values())
        model = keras.Model(inputs, logits)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("adam", loss, run_eagerly=run_eagerly)
        data = {"given": self.given, "values": VALUES, "summary": SUMMARY}
        before = [w.copy() for w in model.get_weights()]
        model.fit(data, np.ones([BATCH, TARGET], "int32"), verbose=0)
        assert any((a != b).any() for a, b in zip(before, model.get_weights(), strict=True))
        model.save(tmp_path / "m.keras")
        again = keras.models.load_model(tmp_path / "m.keras")
        np.testing.assert_allclose(again(data), model(data), atol=1e-6)
