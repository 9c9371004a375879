"""Sampling: the sampled symbols and their frequencies."""

import collections

import numpy as np
import pytest
import tensorflow as tf
from support.automata import END, LENGTH, SIZE, Automaton, exhaustive

from seqattn_tf.decoding import greedy, sample
from seqattn_tf.decoding.sample import drawing

ROWS = 4000


@pytest.fixture(scope="module")
def many():
    """Many equal rows, with answers of at most two symbols."""
    automaton = Automaton(rows=ROWS, seed=1, length=2)
    automaton.logits[:] = automaton.logits[:1]
    return automaton


def counts(found):
    rows = zip(found.tokens.numpy().tolist(), found.lengths.numpy(), strict=True)
    return collections.Counter(tuple(tokens[:length]) for tokens, length in rows)


def assert_drawn_from(probabilities, drawn):
    """Check that Pearson's statistic is within five standard deviations of its expected value."""
    assert abs(sum(probabilities.values()) - 1) < 1e-4
    assert set(drawn) <= set(probabilities)
    likely = {tokens: ROWS * p for tokens, p in probabilities.items() if ROWS * p > 5}
    statistic = sum((drawn[tokens] - expected) ** 2 / expected for tokens, expected in likely.items())
    freedom = len(likely) - 1
    assert statistic < freedom + 5 * np.sqrt(2 * freedom) + 5


def test_answers_come_as_often_as_they_are_probable(many):
    found = many.decode(sample, False, seed=[1, 2], max_length=2)
    expected = exhaustive(many, 0, limit=2)
    assert_drawn_from({one.tokens: np.exp(one.score) for one in expected}, counts(found))
    scores = {one.tokens: one.score for one in expected}
    for row in range(20):
        tokens = tuple(found.tokens[row, : found.lengths[row]].numpy())
        np.testing.assert_allclose(found.scores[row], scores[tokens], rtol=1e-4)


def first_symbols(many, **arguments):
    drawn = many.decode(sample, False, seed=[3, 4], max_length=1, **arguments)
    return {tokens[0] if tokens else END: count for tokens, count in counts(drawn).items()}


@pytest.mark.parametrize(
    "arguments",
    [
        {"temperature": 2.0},
        {"top_k": 3},
        {"top_p": 0.7},
        {"top_k": 4, "top_p": 0.8, "temperature": 1.5},
        {"top_k": 99},
        {"top_k": 2, "never": (3,)},
    ],
    ids=str,
)
def test_what_is_left_to_choose_from_and_how_often_it_is_chosen(many, arguments):
    logits = many.logits[0, 0, 1].astype("float64") / arguments.get("temperature", 1.0)
    logits[list(arguments.get("never", ()))] = -np.inf
    order = np.argsort(-logits)[: arguments.get("top_k", SIZE) or SIZE]
    left = np.exp(logits[order]) / np.exp(logits[order]).sum()
    kept = np.cumsum(left) - left < arguments.get("top_p", 1.0)
    expected = dict(zip(order[kept].tolist(), left[kept] / left[kept].sum(), strict=True))
    expected = {symbol: p for symbol, p in expected.items() if p > 0}
    drawn = collections.Counter(first_symbols(many, **arguments))
    assert_drawn_from(expected, drawn)
    assert set(drawn) == set(expected)


@pytest.mark.parametrize(("top_p", "left"), [(0.25, {0}), (0.5, {0, 1}), (0.51, {0, 1, 2}), (0.75, {0, 1, 2})])
def test_as_few_symbols_as_reach_top_p(top_p, left):
    """With four equal probabilities, whose sums have no rounding errors."""
    drawn = set()
    for lucky in range(4):
        luck = tf.one_hot([lucky], 4, on_value=0.999, off_value=0.5)
        choose = drawing(1.0, top_k=0, top_p=top_p, noise=lambda logits, time, luck=luck: luck)
        chosen, logit = choose(tf.zeros([1, 4]), tf.constant(0))
        assert logit.numpy().tolist() == [0.0]
        drawn.add(int(chosen[0]))
    assert drawn == left


@pytest.mark.parametrize("arguments", [{"temperature": 1e-4}, {"top_k": 1}, {"top_p": 1e-6}], ids=str)
def test_in_the_limit_it_is_greedy(arguments):
    automaton = Automaton(rows=6, seed=2)
    one, other = automaton.decode(sample, False, seed=[5, 6], **arguments), automaton.decode(greedy, False)
    for mine, best in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, best, rtol=1e-5)


@pytest.mark.parametrize("arguments", [{}, {"top_k": 3, "top_p": 0.9, "temperature": 0.8}], ids=str)
def test_one_seed_is_one_answer_everywhere(arguments):
    automaton = Automaton(rows=50, seed=3)

    def run(seed):
        return automaton.decode(sample, seed=seed, **arguments)

    seed = tf.constant([7, 8])
    plain = run(seed)
    for compiled in (False, True) if arguments else (False,):  # XLA is tested once with all arguments
        found = tf.function(run, jit_compile=compiled, autograph=False)(seed)  # the seed is unknown during tracing
        np.testing.assert_array_equal(found.tokens, plain.tokens)
        np.testing.assert_allclose(found.scores, plain.scores, rtol=1e-5)
    assert (run([7, 9]).tokens.numpy() != plain.tokens.numpy()).any()


def test_rows_and_steps_draw_on_their_own():
    automaton = Automaton(rows=40, seed=4)
    automaton.logits[:] = 0
    tokens = automaton.decode(sample, seed=[0, 0], never=(END,)).tokens.numpy()
    assert len({tuple(row) for row in tokens}) > 20
    assert len({tuple(column) for column in tokens.T}) == LENGTH


def test_follows_the_rules():
    automaton = Automaton(rows=30, seed=5)
    rules = {"no_repeat": 1, "min_length": 2, "prefix": [[3]] * 30, "allowed": [True, True, True, True, False]}
    for tokens, count in counts(automaton.decode(sample, False, seed=[1, 1], **rules)).items():
        assert len(set(tokens)) == len(tokens) >= 2, count
        assert tokens[0] == 3
        assert 4 not in tokens


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"temperature": 0.0}, "temperature: expected a number above 0. Received: 0.0"),
        ({"top_k": -1}, "top_k: expected a number of at least 0. Received: -1"),
        ({"top_p": 0.0}, "top_p: expected a number above 0, at most 1. Received: 0.0"),
        ({"top_p": 1.5}, "top_p: expected a number above 0, at most 1. Received: 1.5"),
        ({"seed": 3}, "seed: expected two integers. Received: shape ()"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        Automaton().decode(sample, **{"seed": [0, 0], **arguments})
    assert str(error.value) == message


def test_top_p_is_of_the_probabilities_at_the_temperature():
    """At a high temperature, more symbols are needed to reach the same probability."""
    logits = tf.constant([[4.0, 2.0, 0.0, -2.0]])
    drawn = set()
    for lucky in range(4):
        luck = tf.one_hot([lucky], 4, on_value=0.999999, off_value=1e-6)
        choose = drawing(8.0, top_k=0, top_p=0.7, noise=lambda logits, time, luck=luck: luck)
        drawn.add(int(choose(logits, tf.constant(0))[0][0]))
    shares = tf.nn.softmax(logits / 8.0)[0].numpy()
    assert shares[:2].sum() < 0.7 < shares[:3].sum()
    assert drawn == {0, 1, 2}
