"""Greedy decoding on automata with known answers, without a model."""

from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.decoding import beam, greedy

BEGIN, END, SIZE = 1, 2, 6


class Memory(NamedTuple):
    mask: tf.Tensor


def automaton(table):
    """Return a step function with next-symbol log-probabilities from `table: [SIZE, SIZE]`; it counts its calls."""

    def step(tokens, state, memory):
        weights = tf.one_hot(state % tf.maximum(tf.shape(memory.mask)[1], 1), tf.shape(memory.mask)[1])
        return tf.gather(table, tokens), weights, state + 1

    return step


def random_table(seed):
    return tf.constant(np.random.default_rng(seed).normal(size=(SIZE, SIZE)).astype("f"))


def by_hand(table, max_length):
    table = np.asarray(table, "f8")
    table = table - np.log(np.exp(table).sum(-1, keepdims=True))
    last, score, tokens = BEGIN, 0.0, []
    for _ in range(max_length):
        best = int(table[last].argmax())
        score += table[last, best]
        if best == END:
            break
        tokens.append(best)
        last = best
    return tokens, score


def run(table, rows=2, source=3, max_length=5):
    memory, state = Memory(tf.ones([rows, source], tf.bool)), tf.zeros([rows], tf.int32)
    return greedy(automaton(table), state, memory, begin=BEGIN, end=END, max_length=max_length)


def test_takes_the_best_symbol_at_every_step():
    for seed in range(20):
        found = run(random_table(seed))
        tokens, score = by_hand(random_table(seed), 5)
        length = len(tokens)
        np.testing.assert_array_equal(found.tokens[0, :length], tokens)
        assert (found.tokens[0, length:].numpy() == 0).all()
        assert found.lengths.numpy().tolist() == [length, length]
        np.testing.assert_allclose(found.scores, score, rtol=1e-5)


def test_attention_follows_the_answer_and_is_zero_after_it():
    table = tf.constant(np.eye(SIZE, k=1, dtype="f") * 50)  # 1 -> 2: ends at once
    assert run(table).lengths.numpy().tolist() == [0, 0]
    table = tf.tensor_scatter_nd_update(table, [[1, 2], [1, 3], [5, 2]], [0.0, 50.0, 50.0])  # 1 -> 3 -> 4 -> 5 -> end
    found = run(table)
    assert found.tokens.numpy()[0].tolist() == [3, 4, 5, 0, 0]
    np.testing.assert_array_equal(found.attention.numpy()[0], [*np.eye(3), np.zeros(3), np.zeros(3)])


def test_rows_end_on_their_own():
    def step(tokens, state, memory):
        ends = state >= tf.constant([1, 3])
        return tf.where(ends[:, None], tf.one_hot(END, SIZE), tf.one_hot(4, SIZE)) * 50, tf.ones([2, 1]), state + 1

    memory = Memory(tf.ones([2, 1], tf.bool))
    found = greedy(step, tf.zeros([2], tf.int32), memory, begin=BEGIN, end=END, max_length=5)
    assert found.tokens.numpy().tolist() == [[4, 0, 0, 0, 0], [4, 4, 4, 0, 0]]
    assert found.lengths.numpy().tolist() == [1, 3]


def test_stops_when_all_rows_have_ended():
    calls = []

    def step(tokens, state, memory):
        calls.append(1)
        return tf.one_hot([END, END], SIZE) * 50, tf.ones([2, 1]), state

    greedy(step, tf.zeros([2]), Memory(tf.ones([2, 1], tf.bool)), begin=BEGIN, end=END, max_length=50)
    assert len(calls) == 1


def test_no_rows_and_no_source():
    table = random_table(3)
    assert run(table, rows=0).tokens.shape == (0, 5)
    assert run(table, source=0).attention.shape == (2, 5, 0)


def test_never_chooses_what_is_banned():
    # 1 -> 2, the end; without it, the first of several equal symbols.
    table = tf.constant(np.eye(SIZE, k=1, dtype="f") * 50)
    memory, state = Memory(tf.ones([1, 1], tf.bool)), tf.zeros([1], tf.int32)
    found = greedy(automaton(table), state, memory, begin=BEGIN, end=END, max_length=3, never=(0, 1, END))
    assert found.tokens.numpy().tolist() == [[3, 4, 5]]
    assert float(found.scores[0]) < -40


def test_each_row_has_its_own_limit():
    table = tf.constant(np.eye(SIZE, dtype="f") * 50)  # every symbol repeats itself
    table = tf.tensor_scatter_nd_update(table, [[BEGIN, 4]], [99.0])
    memory, state = Memory(tf.ones([3, 1], tf.bool)), tf.zeros([3], tf.int32)
    limits = {"begin": BEGIN, "end": END, "max_length": 5, "row_lengths": tf.constant([0, 2, 9])}
    found = greedy(automaton(table), state, memory, **limits)
    assert found.lengths.numpy().tolist() == [0, 2, 5]
    assert found.tokens.numpy()[1].tolist() == [4, 4, 0, 0, 0]


def test_each_row_may_begin_with_a_symbol_of_its_own():
    table = tf.eye(5, 5) * 9.0
    memory = Memory(tf.ones([3, 1], tf.bool))

    def step(token, state, memory):
        return tf.gather(table, token + 1), tf.ones([tf.shape(token)[0], 1]), state

    limits = {"end": 4, "max_length": 5}
    expected = [[1, 2, 3, 0, 0], [2, 3, 0, 0, 0], [3, 0, 0, 0, 0]]
    found = greedy(step, (), memory, begin=[0, 1, 2], **limits)
    assert found.tokens.numpy().tolist() == expected
    searched = beam(step, (), memory, begin=tf.constant([0, 1, 2]), width=2, **limits)
    assert searched.tokens[:, 0].numpy().tolist() == expected
    with pytest.raises(ValueError, match="begin: expected a tensor of rank 0 or 1"):
        greedy(step, (), memory, begin=[[0]], **limits)
    with pytest.raises(ValueError, match="length_penalty: expected a number of at least 0"):
        beam(step, (), memory, begin=0, width=2, length_penalty=tf.constant(0.6), **limits)
