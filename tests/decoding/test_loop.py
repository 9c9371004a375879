"""The common loop of greedy decoding and sampling, with a custom choice of symbols."""

import numpy as np
import tensorflow as tf
from support.automata import BEGIN, END, LENGTH, SOURCE, Automaton, Memory

from seqattn_tf.decoding.loop import generate
from seqattn_tf.decoding.rules import Rules


def run(automaton, choose, **rules):
    state = (tf.range(automaton.rows), tf.zeros([automaton.rows], tf.int32))
    memory = Memory(tf.ones([automaton.rows, SOURCE], tf.bool))
    return generate(automaton.step, choose, state, memory, Rules(BEGIN, END, LENGTH, **rules))


def say(symbols):
    """Choose the given symbols in every row, one per step."""

    def choose(logits, time):
        chosen = tf.fill([tf.shape(logits)[0]], tf.gather(symbols, time))
        return chosen, tf.gather(logits, chosen, batch_dims=1)

    return choose


def test_what_is_chosen_is_said_and_scored_and_the_end_too():
    automaton = Automaton(seed=1)
    found = run(automaton, say([3, 4, END, 3]))
    assert found.tokens.numpy().tolist() == [[3, 4, 0, 0]] * 2
    assert found.lengths.numpy().tolist() == [2, 2]
    for row in range(2):
        table = automaton.log_probabilities(row)
        score = table[0, BEGIN, 3] + table[1, 3, 4] + table[2, 4, END]
        np.testing.assert_allclose(found.scores[row], score, rtol=1e-5)
        np.testing.assert_allclose(found.attention[row, 1], automaton.looks[row, 1, 3])
        assert (found.attention[row, 2:].numpy() == 0).all()
    assert automaton.calls == 3


def test_a_row_that_comes_to_an_impossible_choice_has_no_answer_at_all():
    automaton = Automaton(seed=2)
    automaton.logits[1, 2, :, 4] = -np.inf
    found = run(automaton, say([3, 3, 4, 3]))
    assert found.tokens.numpy().tolist() == [[3, 3, 4, 3], [0, 0, 0, 0]]
    assert found.lengths.numpy().tolist() == [4, 0]
    assert np.isfinite(found.scores[0])
    assert found.scores[1] == -np.inf
    assert (found.attention[1].numpy() == 0).all()


def test_the_choice_sees_the_time_and_what_the_rules_leave():
    seen = []

    def choose(logits, time):
        seen.append((int(time), logits.numpy()[0, 3]))
        return say([4] * LENGTH)(logits, time)

    run(Automaton(seed=3), choose, never=(3,))
    assert seen == [(time, -np.inf) for time in range(LENGTH)]
