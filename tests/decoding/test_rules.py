"""Rules that restrict the symbols, tested by greedy decoding on automata."""

import numpy as np
import pytest
import tensorflow as tf
from support.automata import END, LENGTH, SIZE, Automaton, may_be

from seqattn_tf.decoding import greedy, sample

TABLE = {
    "min_length": {"min_length": 3},
    "never": {"never": (3, END)},
    "no_repeat 1": {"no_repeat": 1},
    "no_repeat 2": {"no_repeat": 2, "min_length": 4, "never": (0, 1)},
    "allowed": {"allowed": np.array([True, False, True, True, False])},
    "all": {"min_length": 2, "never": (3,), "no_repeat": 2, "prefix": (4, 4)},
}


def by_hand(automaton, row, rules, limit=LENGTH):
    """Return the tokens of greedy decoding among the allowed symbols, and their log-probability."""
    table, tokens, score = automaton.log_probabilities(row), (), 0.0
    for time in range(limit):
        before = tokens[-1] if tokens else 1
        left = [s for s in range(SIZE) if s != END and may_be((*tokens, s), time + 1, **{**rules, "min_length": 0})]
        left += [END] if may_be(tokens, time + 1, **rules) else []
        best = max(left, key=lambda symbol: table[time, before, symbol])
        score += table[time, before, best]
        if best == END:
            break
        tokens += (best,)
    return tokens, score


@pytest.mark.parametrize("name", TABLE)
def test_greedy_takes_the_best_that_the_rules_leave(name):
    automaton, rules = Automaton(rows=8, seed=7, end=0.5), TABLE[name]
    given = {**rules, "prefix": [rules["prefix"]] * 8} if "prefix" in rules else rules
    found, free = automaton.decode(greedy, False, **given), automaton.decode(greedy, False)
    assert (found.tokens.numpy() != free.tokens.numpy()).any()
    for row in range(8):
        tokens, score = by_hand(automaton, row, rules)
        assert found.tokens[row, : found.lengths[row]].numpy().tolist() == list(tokens)
        np.testing.assert_allclose(found.scores[row], score, rtol=1e-4)


def test_rows_have_prefixes_of_their_own_and_what_is_forced_is_above_the_rules():
    automaton = Automaton(rows=3, seed=8)
    prefix = [[3, 3, 3], [4, 0, 0], [0, 0, 0]]
    found = automaton.decode(greedy, prefix=prefix, never=(3, END), no_repeat=2)
    assert found.tokens[0, :3].numpy().tolist() == [3, 3, 3]
    assert found.tokens[1, 0] == 4
    free = automaton.decode(greedy, never=(3, END), no_repeat=2)
    np.testing.assert_array_equal(found.tokens[2], free.tokens[2])
    [one] = automaton.log_probabilities(0)[:3][np.arange(3), [1, 3, 3], 3].sum(keepdims=True)
    assert found.scores[0] < one  # the score includes the prefix and the rest


def test_where_the_rules_leave_nothing_the_score_says_so():
    # 3 and 4 may occur once each, so nothing is left.
    found = Automaton().decode(greedy, no_repeat=1, never=(0, 1, END))
    assert found.lengths.numpy().tolist() == [0, 0]
    assert (found.scores.numpy() == -np.inf).all()


def test_a_prefix_may_end_an_answer_and_one_outside_the_vocabulary_is_impossible():
    found = Automaton().decode(greedy, prefix=[[3, END], [3, SIZE + 4]], min_length=4)
    assert found.lengths.numpy().tolist() == [1, 0]
    assert np.isfinite(found.scores[0])
    assert found.scores[1] == -np.inf


def test_a_prefix_of_unknown_length():
    automaton = Automaton(seed=9)
    run = tf.function(
        lambda prefix: automaton.decode(greedy, prefix=prefix).tokens,
        input_signature=[tf.TensorSpec([None, None], tf.int32)],
        autograph=False,
    )
    for prefix in ([[3], [4]], [[3, 4, 3, 4], [4, 0, 0, 0]], [[3] * 6] * 2, np.zeros([2, 0], "int32")):
        expected = automaton.decode(greedy, prefix=np.array(prefix)[:, :LENGTH]).tokens
        np.testing.assert_array_equal(run(tf.constant(prefix)), expected)


def test_cut_answers_are_scored_without_an_end():
    automaton = Automaton(rows=4, seed=10)
    found = automaton.decode(greedy, row_lengths=[0, 2, 4, 99], never=(END,))
    assert found.lengths.numpy().tolist() == [0, 2, 4, 4]
    for row, limit in enumerate([0, 2, 4, 4]):
        np.testing.assert_allclose(found.scores[row], by_hand(automaton, row, {"never": (END,)}, limit)[1], rtol=1e-4)


def test_rules_under_xla():
    automaton = Automaton(seed=11)
    rules = {"min_length": 2, "never": (3,), "no_repeat": 2, "prefix": [[4, 4], [1, 0]], "row_lengths": [4, 3]}
    rules["allowed"] = np.ones([2, SIZE], bool)
    for one, other in zip(automaton.decode(greedy, True, **rules), automaton.decode(greedy, **rules), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"max_length": 0}, "max_length: expected a number of at least 1. Received: 0"),
        ({"min_length": -1}, "min_length: expected a number of at least 0. Received: -1"),
        ({"min_length": 5}, "min_length: expected at most max_length = 4. Received: 5"),
        ({"no_repeat": -2}, "no_repeat: expected a number of at least 0. Received: -2"),
        ({"prefix": [[3] * 5] * 2}, "prefix: expected at most max_length = 4 tokens. Received: 5"),
        ({"prefix": [3, 4]}, "prefix: expected a tensor of rank 2. Received: shape (2,)"),
        ({"allowed": [1, 1, 0, 1, 1]}, "allowed: expected booleans, True = allowed. Received: int32"),
        ({"row_lengths": 3}, "row_lengths: expected a tensor of rank 1. Received: shape ()"),
    ],
)
def test_errors(rules, message):
    for way, arguments in ((greedy, {}), (sample, {"seed": [0, 0]})):
        with pytest.raises(ValueError) as error:  # noqa: PT011
            Automaton().decode(way, **arguments, **rules)
        assert str(error.value) == message
