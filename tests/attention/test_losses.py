import keras
import numpy as np
import pytest
import tensorflow as tf
from support.layers import random, roundtrip

from seqattn_tf.attention import HardAlignment, Reinforce, alignment_loss, doubly_stochastic

WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(4), size=[2, 3])
STEPS = np.array([[1, 1, 1], [1, 1, 0]], bool)
MASK = np.array([[1, 1, 1, 0], [1, 0, 1, 1]], bool)


def test_doubly_stochastic_place_by_place():
    expected = [
        sum((1 - sum(WEIGHTS[b, t, j] for t in range(3) if STEPS[b, t])) ** 2 for j in range(4) if MASK[b, j])
        for b in range(2)
    ]
    dirty = np.where(STEPS[..., None], WEIGHTS, np.nan)
    with tf.GradientTape() as tape:
        weights = tf.constant(dirty)
        tape.watch(weights)
        found = doubly_stochastic(weights, tf.constant(MASK), tf.constant(STEPS))
    np.testing.assert_allclose(found, expected)
    assert np.isfinite(tape.gradient(found, weights)).all()
    np.testing.assert_allclose(doubly_stochastic(tf.constant(WEIGHTS)), ((1 - WEIGHTS.sum(1)) ** 2).sum(1))
    assert doubly_stochastic(tf.constant([[[1.0, 0.0], [0.0, 1.0]]])).numpy() == [0.0]
    assert doubly_stochastic(tf.zeros([1, 1, 2], tf.float16)).dtype == tf.float32
    with pytest.raises(ValueError, match="weights: expected 3 axes"):
        doubly_stochastic(tf.zeros([2, 3]))


def test_alignment_loss_step_by_step():
    given = np.zeros([2, 3, 4])
    given[0, 0, 1] = 1
    given[0, 2, [0, 3]] = 1  # two true positions with half the weight each; step 1 has no target
    given[1, 2, 2] = 1  # this step is masked
    found = alignment_loss(tf.constant(WEIGHTS), tf.constant(given), tf.constant(STEPS))
    expected = -np.log(WEIGHTS[0, 0, 1]) - (np.log(WEIGHTS[0, 2, 0]) + np.log(WEIGHTS[0, 2, 3])) / 2
    np.testing.assert_allclose(found, [expected / 2, 0])
    weights = tf.constant([[[0.0, 1.0]]])
    with tf.GradientTape() as tape:
        tape.watch(weights)
        loss = alignment_loss(weights, tf.constant([[[1, 0]]]))
    assert np.isfinite(loss).all()
    assert np.isfinite(tape.gradient(loss, weights)).all()


REWARDS = np.array([1.0, -0.5])


def test_the_gradient_is_that_of_the_expected_reward():
    """With two arms and many samples, the estimate lies within four standard errors of the exact gradient."""
    pulls, start = 20000, np.array([0.3, -0.4])
    align = HardAlignment(estimator="reinforce", seed=7)
    loss = Reinforce(entropy=0.2)
    loss.build()
    loss.baseline.assign(0.4)
    mask = tf.ones([pulls, 2], tf.bool)
    logits = tf.constant(np.broadcast_to(start, [pulls, 1, 2]), tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        weights, state = align(logits, mask[:, None], align.initial_state(mask, tf.float32), training=True)
        reward = tf.linalg.matvec(weights[:, 0], tf.constant(REWARDS, tf.float32))
        value = loss(reward, state.log_prob, state.entropy)
    estimates = -pulls * tape.gradient(value, logits).numpy()[:, 0]

    exact_logits = tf.constant(start)
    with tf.GradientTape() as tape:
        tape.watch(exact_logits)
        p = tf.nn.softmax(exact_logits)
        exact = tf.reduce_sum(p * REWARDS) - 0.2 * tf.reduce_sum(p * tf.math.log(p))
    error = estimates.std(0) / np.sqrt(pulls)
    assert (error < 0.01).all()
    np.testing.assert_array_less(abs(estimates.mean(0) - tape.gradient(exact, exact_logits)), 4 * error)


def test_the_baseline_follows_the_reward_in_training_alone():
    loss = Reinforce(decay=0.5, entropy=0.0)
    reward, log_prob, entropy = (tf.constant(x, tf.float32) for x in ([2.0, 4.0], [-1.0, -2.0], [9.0, 9.0]))
    with tf.GradientTape() as tape:
        tape.watch((reward, log_prob))
        value = loss(reward, log_prob, entropy)
    assert float(value) == 5.0  # (2 * 1 + 4 * 2) / 2
    assert tape.gradient(value, reward) is None
    assert float(loss.baseline) == 0
    for expected in (1.5, 2.25):
        loss(reward, log_prob, entropy, training=True)
        assert float(loss.baseline) == expected
    assert not loss.trainable_variables
    again = roundtrip(Reinforce(decay=0.3, entropy=0.5))
    assert (again.decay, again.entropy) == (0.3, 0.5)
    with pytest.raises(ValueError, match=r"decay: expected a number in \[0, 1\)\. Received: 1"):
        Reinforce(decay=1)


def test_hard_attention_learns_where_the_reward_is():
    """In `fit`, the sampled position determines the reward, and only its log-probability has a gradient."""

    class Bandit(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.align = HardAlignment(estimator="reinforce", seed=1)
            self.loss_of_draws = Reinforce(entropy=0.0)
            self.logits = self.add_weight(name="logits", shape=(1, 1, 2), initializer="zeros")

        def call(self, inputs, training=False):
            mask = tf.ones_like(inputs, tf.bool)
            logits = tf.repeat(tf.convert_to_tensor(self.logits), tf.shape(inputs)[0], axis=0)
            state = self.align.initial_state(mask, tf.float32)
            weights, state = self.align(logits, mask[:, None], state, training=training)
            if training:
                reward = tf.linalg.matvec(weights[:, 0], tf.constant(REWARDS, tf.float32))
                self.add_loss(self.loss_of_draws(reward, *state, training=True))
            return weights[:, 0]

    model = Bandit()
    model.compile(keras.optimizers.Adam(0.1), jit_compile=False)
    model.fit(random(640, 2), epochs=2, batch_size=32, verbose=0)
    assert float(model(tf.zeros([1, 2]))[0, 0]) > 0.8
    assert float(model.loss_of_draws.baseline) > 0


def test_rewards_too_large_for_half_precision():
    loss = Reinforce(dtype="mixed_float16")
    found = loss(tf.constant([-1e5]), tf.constant([-0.5]), tf.constant([0.7]), training=True)
    assert np.isfinite(found)
    np.testing.assert_allclose(loss.baseline, -1e4, rtol=1e-5)
