"""Softmax over many words: adaptive ones by enumeration and finite differences, sampled ones by their limits."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.models import LanguageNetwork
from seqattn_tf.models.networks.softmaxes import AdaptiveSoftmax, cutoffs_of, draw_words, sampled_losses

WORDS, UNITS = 11, 8
CUTOFFS = [3, 6, 11]


def adaptive(dtype="float32"):
    keras.utils.set_random_seed(2)
    made = AdaptiveSoftmax(CUTOFFS, factor=2, dtype=dtype)
    made.build((None, UNITS))
    return made


def outputs(rows=4):
    return tf.constant(np.random.default_rng(1).normal(size=[rows, UNITS]), tf.float32)


def test_adaptive_probabilities_sum_to_one_and_are_those_of_the_formula():
    made, given = adaptive(), outputs()
    found = np.exp(made(given).numpy().astype(float))
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)

    def softmax(values):
        raised = np.exp(values - values.max(axis=1, keepdims=True))
        return raised / raised.sum(axis=1, keepdims=True)

    head = softmax(given.numpy() @ made.kernel.numpy() + made.bias.numpy())
    for word in range(WORDS):
        expected = head[:, word] if word < 3 else None
        for tail, (start, end) in enumerate([(3, 6), (6, 11)]):
            if start <= word < end:
                within = softmax(given.numpy() @ made.down[tail].numpy() @ made.up[tail].numpy())
                expected = head[:, 3 + tail] * within[:, word - start]
        np.testing.assert_allclose(found[:, word], expected, rtol=1e-4)
    assert [kernel.shape for kernel in made.down] == [(8, 4), (8, 2)]


@pytest.mark.parametrize("right", [[0, 4, 10, 2], [1, 1, 2, 0], [7, 8, 9, 10]])
def test_the_adaptive_loss_is_that_of_the_probabilities(right):
    made, given = adaptive(), outputs()
    expected = -np.take_along_axis(made(given).numpy(), np.array(right)[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(made.losses_of(given, tf.constant(right)).numpy(), expected, rtol=1e-5)


def test_adaptive_gradients_are_finite_differences():
    made, given, right = adaptive(), outputs(), tf.constant([0, 4, 10, 5])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(made.losses_of(given, right))
    step = 1e-2
    for weight, gradient in zip(
        made.trainable_weights, tape.gradient(loss, [w.value for w in made.trainable_weights]), strict=True
    ):
        gradient, held = tf.convert_to_tensor(gradient).numpy(), weight.numpy()
        for place in list(np.ndindex(held.shape))[::5]:
            around = []
            for sign in (1, -1):
                moved = held.copy()
                moved[place] += sign * step
                weight.assign(moved)
                around.append(float(tf.reduce_sum(made.losses_of(given, right))))
            weight.assign(held)
            assert gradient[place] == pytest.approx((around[0] - around[1]) / (2 * step), abs=2e-3), weight.path


def test_the_sampled_loss_approaches_the_full_one():
    rng = np.random.default_rng(0)
    size = 200
    words = tf.constant(rng.normal(size=[size, UNITS]) * 0.5, tf.float32)
    bias = tf.constant(rng.normal(size=[size]) * 0.3, tf.float32)
    given, right = outputs(30), tf.constant(rng.integers(0, size, 30), tf.int32)
    logits = tf.matmul(given, words, transpose_b=True) + bias
    full = float(tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(right, logits)))

    def mean(samples, times):
        seed = keras.random.SeedGenerator(3)
        return np.mean(
            [tf.reduce_mean(sampled_losses(given, words, bias, right, samples, seed)).numpy() for _ in range(times)]
        )

    far, near, all_of_them = abs(mean(5, 60) - full), abs(mean(100, 60) - full), abs(mean(size, 3) - full)
    assert all_of_them < 0.02
    assert near < 0.1
    assert near < far / 3


def test_words_are_drawn_by_rank_none_twice_and_by_the_chances_that_are_said():
    seed, size, seen, said = keras.random.SeedGenerator(0), 12, np.zeros(12), []
    draw = tf.function(lambda: draw_words(4, size, seed))
    for _ in range(2000):
        ids, chances = (found.numpy() for found in draw())
        assert len(set(ids.tolist())) == 4
        seen[ids] += 1
        said.append((1 / chances).sum())
    assert np.mean(said) == pytest.approx(size, rel=0.05)  # each sample represents words that were not drawn
    assert (np.diff(seen) < 0).mean() > 0.7
    assert seen[0] > 3 * seen[-1]


@pytest.mark.parametrize("tied", [False, True])
def test_a_sampled_network_learns_by_samples_and_answers_exactly(tied):
    keras.utils.set_random_seed(0)
    network = LanguageNetwork(30, units=8, embedding=6, softmax="sampled", num_sampled=30, tie_embeddings=tied)
    network.build()
    shifted, right = tf.constant([[1, 5, 7], [1, 9, 2]]), tf.constant([[5, 7, 2], [9, 2, 0]])
    assert network({"shifted": shifted}).shape == (2, 3, 30)
    given = network({"shifted": shifted}, training=True)
    assert given.shape == (2, 3, 8)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(right, network({"shifted": shifted}))
    full = float(tf.reduce_sum(losses * tf.cast(right != 0, tf.float32)) / 5)
    assert float(network.compute_loss(y=right, y_pred=given)) == pytest.approx(full, abs=0.02)  # all words are drawn


def test_an_adaptive_network_is_exact():
    keras.utils.set_random_seed(0)
    network = LanguageNetwork(30, units=8, embedding=6, softmax="adaptive")
    shifted, right = tf.constant([[1, 5, 7], [1, 29, 2]]), tf.constant([[5, 7, 2], [29, 2, 0]])
    logits = network({"shifted": shifted})
    np.testing.assert_allclose(np.exp(logits.numpy()).sum(axis=-1), 1, atol=1e-5)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(right, logits)
    full = float(tf.reduce_sum(losses * tf.cast(right != 0, tf.float32)) / 5)
    found = network.compute_loss(y=right, y_pred=network({"shifted": shifted}, training=True))
    assert float(found) == pytest.approx(full, abs=1e-5)


@pytest.mark.parametrize("size", [2, 3, 9, 10, 31, 5000])
def test_cutoffs_rise_to_the_number_of_words(size):
    ends = cutoffs_of(size)
    assert ends == sorted(set(ends))
    assert ends[-1] == size
    found = AdaptiveSoftmax(ends)(tf.ones([1, 4]))
    assert float(tf.reduce_sum(tf.exp(found))) == pytest.approx(1, abs=1e-5)


def test_faults_are_said():
    with pytest.raises(
        ValueError, match=r"cutoffs: expected at least one number, in increasing order.* Received: \[3, 3\]"
    ):
        AdaptiveSoftmax([3, 3])
    with pytest.raises(ValueError, match=r"softmax: expected one of .* Received: 'soft'"):
        LanguageNetwork(9, softmax="soft")
    with pytest.raises(ValueError, match="tie_embeddings: expected False for an adaptive softmax"):
        LanguageNetwork(9, softmax="adaptive", tie_embeddings=True)
    with pytest.raises(ValueError, match="num_sampled: expected a positive integer"):
        LanguageNetwork(9, softmax="sampled", num_sampled=0)
