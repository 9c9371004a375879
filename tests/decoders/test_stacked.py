"""The decoder with two layers and two attentions."""

import numpy as np
import pytest
import tensorflow as tf
from support.decoders import BATCH, TARGET, WIDTH, DecoderTests
from support.layers import random

from seqattn_tf.attention import Attention
from seqattn_tf.cells import GRUCell, LSTMCell
from seqattn_tf.decoders import StackedDecoder, SymbolDecoder
from seqattn_tf.decoding import beam

VOCABULARY = 7
SIZES = {"embedding": 3, "readout": 4}


class TestStacked(DecoderTests):
    given = np.random.default_rng(0).integers(1, VOCABULARY, (BATCH, TARGET)).astype("int32")
    arguments = {"vocabulary": VOCABULARY, **SIZES}

    @classmethod
    def make(cls, dtype="float32"):
        attention = Attention("general", dtype=dtype)
        return StackedDecoder(LSTMCell(4, dtype=dtype), attention, VOCABULARY, **SIZES, dtype=dtype)

    def test_it_is_what_its_equations_say(self, decoder):
        """Compute the equations step by step with the parts of the decoder."""
        tokens, values, summary, mask = self.inputs()
        logits, weights = decoder(tokens, values, summary, mask=mask)
        states = [
            tf.tanh(summary @ kernel + bias)
            for kernel, bias in zip(decoder.first_kernels, decoder.first_biases, strict=True)
        ]
        lower, upper = states[:2], states[2:]
        for t in range(TARGET):
            _, lower = decoder.cell(decoder.embedding(tokens[:, t]), lower)
            context, _ = decoder.attention(lower[0], values, mask=mask)
            given = decoder.second.project(lower[0]) + context @ decoder.context_kernel
            upper = decoder.second.step(given, upper)
            again, looked = decoder.again(upper[0], values, mask=mask)
            readout = tf.tanh(upper[0] @ decoder.state_kernel + decoder.readout_bias + again @ decoder.again_kernel)
            said = readout @ decoder.output_kernel + decoder.output_bias
            np.testing.assert_allclose(logits[:, t], said, atol=1e-5)
            np.testing.assert_allclose(weights[:, t], looked, atol=1e-6)

    def test_the_layers_have_weights_of_their_own(self, decoder):
        names = [weight.path for weight in decoder.weights]
        assert len(set(names)) == len(names)
        for one, other in zip(decoder.cell.weights[:2], decoder.second.weights[:2], strict=True):
            assert one.shape != other.shape or (one.numpy() != other.numpy()).any()
        assert decoder.attention.weights[0] is not decoder.again.weights[0]

    def test_what_the_second_layer_is_given_is_dropped_out(self):
        decoder = StackedDecoder(
            LSTMCell(64), Attention("general"), VOCABULARY, **SIZES, embedding_dropout=0.0, dropout=0.5
        )
        tokens, values, summary, mask = self.inputs()
        _, plain = decoder(tokens, values, summary, mask=mask)
        _, learning = decoder(tokens, values, summary, mask=mask, training=True)
        assert not np.allclose(plain, learning, atol=1e-4)


class TestStackedThatBeginsWithOneState(DecoderTests):
    given = TestStacked.given
    arguments = {"vocabulary": VOCABULARY, **SIZES, "bridge": "first"}

    @classmethod
    def make(cls, dtype="float32"):
        cell, attention = LSTMCell(4, dtype=dtype), Attention("scaled_general", dtype=dtype)
        return StackedDecoder(cell, attention, VOCABULARY, **SIZES, bridge="first", dtype=dtype)

    def test_only_the_output_of_the_first_layer_is_made(self, decoder):
        _, values, summary, mask = self.inputs()
        first, *others = decoder.begin(values, mask, summary)[1].cell
        [kernel], [bias] = decoder.first_kernels, decoder.first_biases
        np.testing.assert_allclose(first, tf.tanh(summary @ kernel + bias), atol=1e-6)
        assert len(others) == 3
        assert all(state.shape == first.shape and not np.any(state) for state in others)


class TestStackedThatRemembers(DecoderTests):
    given = TestStacked.given
    arguments = {"vocabulary": VOCABULARY, **SIZES}

    @classmethod
    def make(cls, dtype="float32"):
        attention = Attention("coverage", units=5, dtype=dtype)
        return StackedDecoder(GRUCell(4, dtype=dtype), attention, VOCABULARY, **SIZES, dtype=dtype)

    def test_neither_look_remembers_a_step_that_is_not_kept(self, decoder):
        tokens, values, summary, mask = self.inputs()
        kept = np.arange(TARGET) != 1
        found = decoder(tokens, values, summary, mask=mask, tokens_mask=tf.constant([kept] * BATCH))
        expected = decoder(tokens.numpy()[:, kept], values, summary, mask=mask)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.numpy()[:, kept], other, atol=1e-5)


@pytest.mark.parametrize("score", ["general", "coverage"])
def test_beams_share_a_memory_and_find_the_same(score):
    decoder = StackedDecoder(LSTMCell(4), Attention(score), VOCABULARY, **SIZES)
    decoder.build((None, None), (None, None, WIDTH), (None, WIDTH))
    values, summary = tf.constant(random(2, 5, WIDTH)), tf.constant(random(2, WIDTH, seed=1))
    memory, state = decoder.begin(values, None, summary)
    how = {"begin": 1, "end": 2, "max_length": 5, "width": 3, "answers": 3}
    fast, plain = (beam(step, state, memory, **how) for step in (decoder.stepper(), decoder.step))
    np.testing.assert_array_equal(fast.tokens, plain.tokens)
    np.testing.assert_allclose(fast.scores, plain.scores, atol=1e-5)
    np.testing.assert_allclose(fast.attention, plain.attention, atol=1e-5)


def test_it_is_found_by_its_name():
    made = SymbolDecoder.get("stacked", cell=LSTMCell(4), attention=Attention(), vocabulary=5)
    assert isinstance(made, StackedDecoder)
