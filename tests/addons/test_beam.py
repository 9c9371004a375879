"""The cases of TensorFlow Addons' `beam_search_decoder_test.py` and `beam_search_ops_test.py`, as plain loops."""

import numpy as np
import pytest
import tensorflow as tf
from support.automata import BEGIN, END, SIZE, SOURCE, Automaton, Memory

from seqattn_tf.decoding import beam

TIMES = 6


def histories(automaton, row, width, limit):
    """Run a beam search in which each beam contains its whole history, so that no parent indices are needed.

    Returns the answers, best first, as `(score, tokens, looks)`, and whether a beam ever changed its position.
    """
    table, looks = automaton.log_probabilities(row), automaton.looks[row]
    running, answers, crossed = [(0.0, (), ())], [(0.0, (), ())] if limit == 0 else [], False
    for time in range(limit):
        results = []
        for place, (score, tokens, seen) in enumerate(running):
            last = (BEGIN, *tokens)[-1]
            for symbol in range(SIZE):
                after = (score + table[time, last, symbol], (*tokens, symbol), (*seen, looks[time, last]))
                results.append((place, after))
        results.sort(key=lambda one: -one[1][0])
        for _, (score, tokens, seen) in results[:width]:
            if tokens[-1] == END:
                answers.append((score, tokens[:-1], seen[:-1]))
            elif time + 1 == limit:
                answers.append((score, tokens, seen))
        going = [one for one in results if one[1][1][-1] != END][:width]
        parents = [place for place, _ in going]
        crossed |= time > 0 and parents != sorted(parents)
        running = [after for _, after in going]
    return sorted(answers, key=lambda one: -one[0]), crossed


def assert_answers(found, row, expected):
    """Compare tokens, scores and attention of the best answers; after the end of an answer there must be nothing."""
    for place, (score, tokens, seen) in enumerate(expected[: found.scores.shape[1]]):
        length = len(tokens)
        assert int(found.lengths[row, place]) == length
        np.testing.assert_array_equal(found.tokens[row, place, :length], tokens)
        np.testing.assert_allclose(found.scores[row, place], score, rtol=1e-5)
        np.testing.assert_allclose(found.attention[row, place, :length], np.reshape(seen, [length, SOURCE]), rtol=1e-6)
        assert (found.tokens[row, place, length:].numpy() == 0).all()
        assert (found.attention[row, place, length:].numpy() == 0).all()


def test_answers_follow_their_parents():
    """Beams that change their positions: the tokens and attention of an answer are those of its own ancestors."""
    automaton = Automaton(rows=5, seed=8, end=-1.0, length=TIMES)
    found = automaton.decode(beam, width=4, answers=4, max_length=TIMES)
    crossed = 0
    for row in range(5):
        expected, one = histories(automaton, row, 4, TIMES)
        assert_answers(found, row, expected)
        crossed += one
    assert crossed >= 3


def test_rows_of_any_length():
    limits = [0, 1, 2, 4, 6, 6, 9]  # the last one exceeds the global limit
    automaton = Automaton(rows=7, seed=9, length=TIMES)
    found = automaton.decode(beam, width=5, answers=5, max_length=TIMES, row_lengths=limits)
    assert not (found.tokens.numpy() == END).any()
    for row, limit in enumerate(limits):
        expected, _ = histories(automaton, row, 5, min(limit, TIMES))
        assert_answers(found, row, expected)
        assert (found.scores[row, len(expected) :].numpy() == -np.inf).all()


def test_what_has_ended_costs_nothing_more():
    """An answer keeps its score after its end, while other answers continue."""
    automaton = Automaton(rows=3, seed=10, end=1.5, length=TIMES)
    found = automaton.decode(beam, width=3, answers=3, max_length=TIMES)
    ended = found.lengths.numpy() < TIMES
    assert ended.any()
    assert len(np.unique(found.lengths.numpy())) > 1
    automaton.logits[:, :, END] = 50 * np.random.default_rng(0).normal(size=[SIZE])
    again = automaton.decode(beam, width=3, answers=3, max_length=TIMES)
    for one, other in zip(found, again, strict=True):
        np.testing.assert_array_equal(one, other)
    for row, place in np.argwhere(ended):
        table, tokens = automaton.log_probabilities(row), found.tokens[row, place].numpy()
        said = [*tokens[: int(found.lengths[row, place])], END]
        score = sum(table[time, (BEGIN, *said)[time], symbol] for time, symbol in enumerate(said))
        np.testing.assert_allclose(found.scores[row, place], score, rtol=1e-5)


def by_hand(first, second, **arguments):
    """Run two steps of one row, given the probabilities of the first symbol and of the second after each first one."""
    first, second = np.log(np.asarray(first, "float32") + 1e-30), np.log(np.asarray(second, "float32") + 1e-30)

    def step(tokens, state, memory):
        now = tf.where((state == 0)[:, None], tf.constant(first)[None], tf.gather(tf.constant(second), tokens))
        return now, tf.ones([tf.shape(tokens)[0], 1]), state + 1

    memory = Memory(tf.ones([1, 1], tf.bool))
    return beam(step, tf.zeros([1], tf.int32), memory, begin=0, end=0, max_length=2, **arguments)


def test_a_step_of_three_beams():
    """Beams 1, 2 and 3 are equally probable; the best three of their 15 continuations come from 2, 1 and 1."""
    second = [[0.2] * 5, [0.1, 0.0, 0.25, 0.6, 0.05], [0.1, 0.0, 0.1, 0.7, 0.1], [0.2] * 5, [0.2] * 5]
    found = by_hand([0, 1 / 3, 1 / 3, 1 / 3, 0], second, width=3, answers=3, length_penalty=0.6)
    assert found.tokens.numpy().tolist() == [[[2, 3], [1, 3], [1, 2]]]
    assert found.lengths.numpy().tolist() == [[2, 2, 2]]
    np.testing.assert_allclose(found.scores, np.log([[0.7 / 3, 0.6 / 3, 0.25 / 3]]), rtol=1e-5)
    np.testing.assert_allclose(found.ranks, found.scores / (7 / 6) ** 0.6, rtol=1e-5)


@pytest.mark.parametrize("penalty", [0.0, 0.6])
def test_a_step_beside_one_that_has_ended(penalty):
    """The first symbol may be the end: that answer does not change, while the others get one step longer."""
    second = [[0.2] * 5, [0.0, 0.0, 0.0, 0.9, 0.1], [0.0, 0.3, 0.3, 0.2, 0.2], [0.2] * 5, [0.2] * 5]
    found = by_hand([0.35, 0.45, 0.2, 0, 0], second, width=3, answers=3, length_penalty=penalty)
    scores = {(1, 3): np.log(0.45 * 0.9), (): np.log(0.35), (2, 1): np.log(0.2 * 0.3), (2, 2): np.log(0.2 * 0.3)}
    ranks = {said: score / ((5 + len(said)) / 6) ** penalty for said, score in scores.items()}
    best = sorted(ranks, key=lambda said: -ranks[said])[:3]
    assert () in best
    for place, said in enumerate(best):
        assert found.tokens[0, place, : len(said)].numpy().tolist() == list(said)
    assert found.lengths.numpy().tolist() == [[len(said) for said in best]]
    np.testing.assert_allclose(found.scores[0], [scores[said] for said in best], rtol=1e-5)
    np.testing.assert_allclose(found.ranks[0], [ranks[said] for said in best], rtol=1e-5)
