"""The test harness for all scores and alignments: numbers compared with NumPy, masks, gradients, saving."""

import inspect

import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.attention import Attention
from seqattn_tf.checks import check
from support.layers import random, roundtrip
from support.slow import slow
from support.step_by_step import untraced

BATCH, QUERIES, SOURCE, UNITS, WIDTH = 4, 4, 4, 4, 6
MASK = np.array([[1, 1, 1, 1], [1, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0]], bool)


def softmax(logits):
    weights = np.exp(logits - logits.max()) if logits.size else logits
    return weights / weights.sum() if logits.size else weights


def sigmoid(logits):
    return 1 / (1 + np.exp(-logits))


LONG = ("gradients", "xla", "mixed_precision", "saving")  # slow checks in a graph; exports are tested elsewhere


class PartTests:
    """A harness; subclasses define `make(**options)`, `kind`, `arguments` (all, not at their defaults) and `attention`.

    `attention(dtype)` returns an `Attention` with the part, `values` are the inputs, and `expected(attention, values)`
    returns the weights of all rows `[queries, source]` by the formula.
    """

    takes_one = True  # one query at a time, or self-attention with all positions at once
    quick = ()  # the slow checks that run for this member without the slow marker
    remembers = False
    query = random(BATCH, QUERIES, UNITS, dtype="float64")
    arguments = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)

        @pytest.mark.parametrize("name", [name if name in cls.quick else slow(name) for name in LONG])
        def test_in_a_graph_compiled_mixed_and_fitted(self, name):
            with untraced(name == "saving"):
                check(self.make(), only=[name])

        cls.test_in_a_graph_compiled_mixed_and_fitted = test_in_a_graph_compiled_mixed_and_fitted

    @classmethod
    def build(cls, dtype):
        layer = cls.attention(dtype=dtype)
        layer.build((None, None, UNITS), (None, None, cls.values.shape[2]))
        for number, weight in enumerate(layer.trainable_variables):
            weight.assign(random(*weight.shape, seed=3 + number, dtype="float64"))
        return layer

    @pytest.fixture(scope="class")
    @classmethod
    def layer(cls):
        return cls.build("float64")

    def dirty(self):
        return np.where(MASK[..., None], self.values, np.nan)

    def test_numbers_of_the_formula(self, layer):
        """The mask has gaps with NaN, one row of length 1 and one of length 0; unknown shapes are tested below."""
        weights = self.expected(layer, self.values)
        context, found = layer(tf.constant(self.query), tf.constant(self.dirty()), mask=tf.constant(MASK))
        np.testing.assert_allclose(found, weights, atol=1e-9)
        np.testing.assert_allclose(context, weights @ self.values, atol=1e-8)
        assert (found.numpy()[np.broadcast_to(~MASK[:, None], found.shape)] == 0).all()

    def test_what_every_part_must_do(self):
        check(self.make(), skip=[*LONG, "exports", "short_sequences"])

    def test_unknown_shapes_and_short_sequences(self):
        check(self.make(), only=["short_sequences"])

    def test_gradients(self):
        with untraced():
            check(self.make(), only=["gradients"])

    def test_one_at_a_time_is_the_same_as_all(self, layer):
        contexts, weights = layer(tf.constant(self.query), tf.constant(self.dirty()), mask=tf.constant(MASK))
        memory = layer.prepare(tf.constant(self.dirty()), tf.constant(MASK))
        state = layer.initial_state(memory)
        assert layer.stateful == self.remembers == bool(tf.nest.flatten(state))
        assert all(tensor.shape[0] == BATCH for tensor in tf.nest.flatten(state))
        for q in range(2):
            context, weight, after = layer.attend(tf.constant(self.query[:, q]), memory, state)
            np.testing.assert_allclose(weight, weights[:, q], atol=1e-12)
            np.testing.assert_allclose(context, contexts[:, q], atol=1e-12)
            for new, old in zip(tf.nest.flatten(after), tf.nest.flatten(state), strict=True):
                assert (new.shape, new.dtype) == (old.shape, old.dtype)
            state = after

    def test_every_argument_survives_saving(self):
        parameters = [
            p
            for base in self.kind.__mro__
            if base.__module__.startswith("seqattn_tf.attention") and "__init__" in base.__dict__
            for p in inspect.signature(base.__init__).parameters.values()
            if p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "self"
        ]
        assert {p.name for p in parameters} == set(self.arguments)
        assert all(self.arguments[p.name] != p.default for p in parameters)
        part = self.kind(**self.arguments)
        config = roundtrip(part).get_config()
        assert {name: config[name] for name in self.arguments} == self.arguments
        assert type(part).registry[part.name_in_registry] is self.kind


class ScoreTests(PartTests):
    """A harness for scores; subclasses define `logits(weights, query, values, past, mask)`.

    It returns the scores of a query `[units]` for positions `[source, width]`; `past` are the previous weights.
    """

    values = random(BATCH, SOURCE, WIDTH, seed=1, dtype="float64")

    @classmethod
    def attention(cls, **options):
        return Attention(cls.make(**options), "softmax", **options)

    def expected(self, layer, values):
        weights = [variable.numpy() for variable in layer.score.trainable_variables]
        found = np.zeros((BATCH, QUERIES, SOURCE))
        for row, mask in enumerate(MASK):
            values = np.where(mask[:, None], self.values[row], 0)
            for q, query in enumerate(self.query[row]):
                logits = self.logits(weights, query, values, found[row, :q], mask)
                found[row, q, mask] = softmax(logits[mask])
        return found


class AlignmentTests(PartTests):
    """A harness for alignments; subclasses define `aligned(weights, logits)`.

    It maps a row without gaps, `[queries, source] -> [queries, source]`. Query number `q` selects feature `q` of a
    position as its logit.
    """

    query = np.broadcast_to(np.eye(UNITS), [BATCH, QUERIES, UNITS])
    values = 2 * random(BATCH, SOURCE, UNITS, seed=1, dtype="float64")

    @classmethod
    def attention(cls, **options):
        return Attention("dot", cls.make(**options), **options)

    def expected(self, layer, values):
        weights = [variable.numpy() for variable in layer.align.trainable_variables]
        found = np.zeros((BATCH, QUERIES, SOURCE))
        for row, mask in enumerate(MASK):
            if mask.any():
                kept = np.ix_(mask if not self.takes_one else np.ones(QUERIES, bool), mask)
                found[row][kept] = self.aligned(weights, self.values[row].T[kept])
        return found

    def test_what_weights_mean(self):
        assert self.kind.meaning == self.meaning
