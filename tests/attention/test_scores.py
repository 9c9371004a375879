"""Every score runs the whole harness because it is listed here."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.attention import BATCH, MASK, SOURCE, UNITS, WIDTH, ScoreTests
from support.layers import random

from seqattn_tf import attention


class TestAdditive(ScoreTests):
    kind = attention.AdditiveScore
    arguments = {"units": 7, "normalize": True}
    more = {}

    @classmethod
    def make(cls, **options):
        return cls.kind(5, **cls.more, **options)

    def extra(self, weights, past, mask):
        return 0

    def logits(self, weights, query, values, past, mask):
        u, w, v, *others = weights
        gain, bias = np.linalg.norm(v), 0
        if self.more.get("normalize"):
            gain, bias, *others = others
        seen = self.extra(others, past, mask)
        return gain * (np.tanh(query @ u + values @ w + bias + seen) @ v[:, 0]) / np.linalg.norm(v)


class TestNormalized(TestAdditive):
    more = {"normalize": True}
    quick = ("gradients", "xla", "mixed_precision", "saving")

    def test_starts_as_in_addons(self):
        score = self.make()
        score.build((None, None, UNITS), (None, None, WIDTH))
        assert [weight.name for weight in score.weights] == ["query_kernel", "value_kernel", "scale", "gain", "bias"]
        assert float(score.gain) == pytest.approx(5**-0.5)
        assert not score.bias.numpy().any()
        assert self.kind(5).normalize is False

    def test_only_the_direction_of_the_scale_counts(self, layer):
        query, values = tf.constant(self.query), tf.constant(self.values)
        _, expected = layer(query, values)
        layer.score.scale.assign(3 * layer.score.scale)
        np.testing.assert_allclose(layer(query, values)[1], expected, atol=1e-9)
        layer.score.gain.assign(3 * layer.score.gain)
        assert np.abs(layer(query, values)[1] - expected).max() > 1e-3


class TestCoverage(TestAdditive):
    kind = attention.CoverageScore
    remembers = True

    def extra(self, weights, past, mask):
        return past.sum(0)[:, None] * weights[0]


class TestLocation(TestAdditive):
    kind = attention.LocationScore
    remembers = True
    arguments = {"units": 7, "filters": 2, "width": 5, "normalize": True}
    more = {"filters": 2, "width": 3}

    def extra(self, weights, past, mask):
        filters, features = weights
        last = past[-1] if len(past) else np.eye(SOURCE)[mask.argmax()] * mask.any()
        padded = np.pad(last, 1)
        return np.stack([padded[j : j + 3] @ filters[:, 0] for j in range(SOURCE)]) @ features

    def test_an_even_width_has_no_middle(self):
        with pytest.raises(ValueError, match=r"width: expected a positive odd number of positions\. Received: 4"):
            attention.LocationScore(width=4)


class TestNormalizedCoverage(TestCoverage):
    more = {"normalize": True}


class TestNormalizedLocation(TestLocation):
    more = {"filters": 2, "width": 3, "normalize": True}


class TestAverage(ScoreTests):
    kind = attention.AverageScore

    @classmethod
    def make(cls, **options):
        return cls.kind(**options)

    def logits(self, weights, query, values, past, mask):
        return np.zeros(len(values))


class TestGeneral(TestAverage):
    kind = attention.GeneralScore

    def logits(self, weights, query, values, past, mask):
        return np.array([query @ (value @ weights[0]) for value in values])


class TestScaledGeneral(TestGeneral):
    kind = attention.ScaledGeneralScore

    def logits(self, weights, query, values, past, mask):
        return super().logits(weights, query, values, past, mask) / np.sqrt(UNITS)


class TestDot(TestAverage):
    kind = attention.DotScore
    values = random(BATCH, SOURCE, UNITS, seed=1, dtype="float64")

    def logits(self, weights, query, values, past, mask):
        return np.array([query @ value for value in values])

    def test_other_widths_are_refused(self):
        layer = attention.Attention(self.kind.name_in_registry)
        with pytest.raises(ValueError, match=r"values: expected 4 features, as in the query, .*Received: 6"):
            layer(tf.zeros([1, UNITS]), tf.zeros([1, SOURCE, WIDTH]))


class TestScaledDot(TestDot):
    kind = attention.ScaledDotScore

    def logits(self, weights, query, values, past, mask):
        return np.array([query @ value / np.sqrt(UNITS) for value in values])


class TestCosine(TestDot):
    kind = attention.CosineScore
    quick = ("mixed_precision",)
    arguments = {"strength": 2.0}

    def logits(self, weights, query, values, past, mask):
        lengths = np.linalg.norm(query) * np.linalg.norm(values, axis=1)
        return weights[0] * (values @ query) / np.where(lengths > 0, lengths, 1)

    def test_zero_vectors_have_no_direction(self):
        _, weights = attention.Attention("cosine")(tf.zeros([1, 3]), tf.zeros([1, 2, 3]))
        assert weights.numpy().tolist() == [[0.5, 0.5]]


def test_every_score_is_listed():
    listed = {
        kind.kind
        for kind in globals().values()
        if isinstance(kind, type) and issubclass(kind, ScoreTests)
        if kind is not ScoreTests
    }
    assert listed == set(attention.Score.registry.values())


@pytest.mark.parametrize("scaled", [False, True])
def test_numbers_of_keras(scaled):
    query, values = random(BATCH, 3, UNITS), random(BATCH, SOURCE, UNITS, seed=1)
    ours = attention.Attention("scaled_dot" if scaled else "dot")
    mask = MASK[:3]  # Keras returns uniform weights for a fully masked row
    found = ours(tf.constant(query[:3]), tf.constant(values[:3]), mask=tf.constant(mask))
    theirs = keras.layers.Attention(seed=0)
    scale = UNITS**-0.5 if scaled else 1.0
    expected = theirs([query[:3] * scale, values[:3]], mask=[None, mask], return_attention_scores=True)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_additive_numbers_of_keras():
    query, values = random(3, 2, UNITS), random(3, SOURCE, UNITS, seed=1)
    ours = attention.Attention(attention.AdditiveScore(UNITS))
    ours.build((None, UNITS), (None, None, UNITS))
    scale = random(UNITS, seed=2)
    ours.set_weights([np.eye(UNITS), np.eye(UNITS), scale[:, None]])
    theirs = keras.layers.AdditiveAttention()
    theirs.build([query.shape, values.shape])
    theirs.set_weights([scale])
    found = ours(tf.constant(query), tf.constant(values), mask=tf.constant(MASK[:3]))
    expected = theirs([query, values], mask=[None, MASK[:3]], return_attention_scores=True)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
