"""Beam search compared with loops over every sequence, and with plain loops that never stop early."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from support.automata import (
    BEGIN,
    END,
    EVERY,
    LENGTH,
    LIMITS,
    SIZE,
    SOURCE,
    Automaton,
    Memory,
    assert_same,
    exhaustive,
    search,
)

from seqattn_tf.decoding import beam, greedy

ALLOWED = np.array([[True, False, True, True, True], [True, True, True, True, False]])
PREFIX = [[3, 4], [1, 0]]


def bare(prefix):
    return tuple(symbol for symbol in prefix if symbol)


@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"length_penalty": 1.0},
        {"length_penalty": 0.6, "coverage_penalty": 0.4},
        {"min_length": 3, "never": (0,), "length_penalty": 0.6},
        {"no_repeat": 1, "length_penalty": 2.0},
        {"no_repeat": 2, "coverage_penalty": 0.3},
        {"prefix": PREFIX, "no_repeat": 2, "never": (3,)},
        {"allowed": ALLOWED, "row_lengths": [LENGTH, 2]},
        {"allowed": ALLOWED, "prefix": PREFIX, "min_length": 2, "row_lengths": [1, 3], "length_penalty": 1.0},
    ],
    ids=lambda rules: "-".join(rules) or "none",
)
def test_a_beam_wide_enough_finds_the_best_of_all_sequences(rules):
    automaton = Automaton(seed=len(rules))
    found = automaton.decode(beam, width=EVERY, answers=9, **rules)
    for row in range(2):
        own = {name: value for name, value in rules.items() if name != "row_lengths"}
        own |= {"prefix": bare(PREFIX[row])} if "prefix" in rules else {}
        own |= {"allowed": ALLOWED[row]} if "allowed" in rules else {}
        expected = exhaustive(automaton, row, limit=rules.get("row_lengths", [LENGTH] * 2)[row], **own)
        assert_same(found, row, expected[:9])
        for place in range(len(expected), 9):  # there are no more answers
            assert found.scores[row, place] == found.ranks[row, place] == -np.inf
            assert found.lengths[row, place] == 0


def test_a_row_that_may_say_more_than_max_length_is_cut_there():
    automaton = Automaton(seed=3)
    for rules in ({}, {"length_penalty": 1.0}):
        expected = automaton.decode(beam, width=3, never=(END,), **rules)
        found = automaton.decode(beam, width=3, never=(END,), row_lengths=[99, LENGTH + 1], **rules)
        assert found.lengths.numpy().tolist() == [[LENGTH], [LENGTH]]
        np.testing.assert_array_equal(found.tokens, expected.tokens)
        np.testing.assert_allclose(found.ranks, expected.ranks)


def test_padding_need_not_be_covered():
    automaton = Automaton(seed=4)
    automaton.looks[..., -1] = 0

    def search(places):
        def step(tokens, state, memory):
            logits, looks, state = automaton.step(tokens, state, memory)
            return logits, looks[:, :places], state

        memory = Memory(tf.sequence_mask([SOURCE - 1] * 2, places))
        state = (tf.range(2), tf.zeros([2], tf.int32))
        return beam(step, state, memory, width=4, answers=4, coverage_penalty=0.4, **LIMITS)

    padded, bare = search(SOURCE), search(SOURCE - 1)
    np.testing.assert_array_equal(padded.tokens, bare.tokens)
    np.testing.assert_allclose(padded.ranks, bare.ranks)


@pytest.mark.parametrize("penalty", [0.0, 0.8, 2.5])
def test_stopping_early_changes_nothing(penalty):
    automaton = Automaton(rows=12, seed=1, end=1.0)
    for width in (1, 2, 4):
        compiled = False if (penalty, width) == (0.8, 4) else None  # run one of them in a graph, which takes longer
        found = automaton.decode(beam, compiled, width=width, answers=width, length_penalty=penalty)
        for row in range(12):
            expected = search(automaton, row, width, penalty)[:width]
            np.testing.assert_allclose(found.scores[row, : len(expected)], [one[0] for one in expected], rtol=1e-4)
            for place, (_, tokens) in enumerate(expected):
                assert found.tokens[row, place, : len(tokens)].numpy().tolist() == list(tokens)


def test_stops_as_soon_as_nothing_can_change():
    automaton = Automaton(seed=2, end=9.0, length=50)  # almost certainly ends at once
    automaton.decode(beam, width=3, max_length=50)
    assert automaton.calls == 1
    automaton.decode(beam, width=3, answers=3, max_length=50)
    assert 1 < automaton.calls < 8
    automaton.calls = 0
    # The penalty is so large that an answer of length 50 could still win.
    automaton.decode(beam, width=3, max_length=50, length_penalty=5.0)
    assert automaton.calls > 3


@pytest.mark.parametrize("seed", range(3))
def test_a_width_of_one_is_greedy_decoding(seed):
    rules = [{}, {"min_length": 2, "never": (0,)}, {"no_repeat": 1, "row_lengths": [3, 0, 4, 1]}][seed]
    automaton = Automaton(rows=4, seed=seed)
    one, other = automaton.decode(greedy, False, **rules), automaton.decode(beam, False, width=1, **rules)
    for name in one._fields:
        np.testing.assert_allclose(getattr(other, name)[:, 0], getattr(one, name), rtol=1e-6)
    np.testing.assert_allclose(other.ranks, other.scores)


def test_of_equals_the_first_symbol_wins_as_in_greedy():
    automaton = Automaton(seed=0)
    automaton.logits[:] = 0
    one, other = automaton.decode(greedy), automaton.decode(beam, width=1)
    np.testing.assert_array_equal(one.tokens, other.tokens[:, 0])


def test_the_best_never_gets_worse_as_the_beam_grows():
    """Guaranteed for answers of two symbols: the wider beam continues everything that the narrower one continues.

    With more symbols, it is not guaranteed until the beam is wide enough for all sequences.
    """
    automaton = Automaton(rows=6, seed=1)
    rules = {"max_length": 2, "never": (END,)}
    best = [automaton.decode(beam, width=width, **rules).scores.numpy() for width in (1, 2, 3, 4, 99)]
    # Sums are rounded differently in another order.
    assert all((wide >= narrow - 1e-6).all() for narrow, wide in itertools.pairwise(best))
    assert (best[-1] > best[0] + 0.1).any()
    expected = [exhaustive(automaton, row, limit=2, never=(END,))[0].score for row in range(6)]
    np.testing.assert_allclose(best[-1][:, 0], expected, rtol=1e-4)


def test_xla_equals_plain():
    """With all arguments of a search; most tests in this module use plain graphs."""
    automaton = Automaton(seed=4)
    rules = {"length_penalty": 0.7, "coverage_penalty": 0.2, "no_repeat": 2, "prefix": PREFIX}
    plain = automaton.decode(beam, width=3, answers=2, **rules)
    for one, other in zip(automaton.decode(beam, True, width=3, answers=2, **rules), plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def decode_logits(logits, way=beam, **arguments):
    """Decode one row with equal logits at every step and for every row of the state."""

    def step(tokens, state, memory):
        rows = tf.shape(tokens)[0]
        return tf.tile([logits], [rows, 1]), tf.ones([rows, SOURCE]), state

    return way(step, (), Memory(tf.ones([1, SOURCE], tf.bool)), **{**LIMITS, "max_length": 2, **arguments})


@pytest.mark.parametrize("bad", [float("nan"), -float("inf"), np.finfo("f").min])
def test_what_is_impossible_is_never_said(bad):
    found = decode_logits([bad, bad, 0.0, bad, bad], width=4, answers=3)
    assert found.lengths.numpy().tolist() == [[0, 0, 0]]
    assert found.scores.numpy().tolist() == [[0, -np.inf, -np.inf]]  # the end is certain
    found = decode_logits([bad, bad, bad, 0.0, bad], width=4, answers=3)
    assert found.tokens.numpy().tolist() == [[[3, 3], [0, 0], [0, 0]]]


@pytest.mark.parametrize("logits", [[float("nan")] * SIZE, [-float("inf")] * SIZE, [float("inf")] * SIZE])
def test_where_nothing_is_possible_the_score_says_so(logits):
    for way, arguments in ((beam, {"width": 2}), (greedy, {})):
        found = decode_logits(logits, way, **arguments)
        assert (found.scores.numpy() == -np.inf).all()
        assert (found.lengths.numpy() == 0).all()
        assert (found.attention.numpy() == 0).all()
    found = decode_logits([0.0] * SIZE, width=3, never=range(SIZE))
    assert (found.scores.numpy() == -np.inf).all()


def test_a_dead_end_on_the_way_leaves_the_others():
    automaton = Automaton(seed=5)
    automaton.logits[0, 1] = -np.inf  # nothing can follow the first symbol of the first row
    found = automaton.decode(beam, width=3)
    assert (int(found.lengths[0, 0]), int(found.lengths[1, 0])) == (0, len(exhaustive(automaton, 1)[0].tokens))
    one = automaton.decode(greedy, never=(END,))
    assert one.scores[0] == -np.inf
    assert (one.tokens[0].numpy() == 0).all()
    assert one.lengths.numpy().tolist() == [0, LENGTH]


def test_a_vocabulary_smaller_than_the_width():
    for size in (1, 2):
        for arguments in ({"width": 4, "answers": 4}, {"width": 1}):
            found = decode_logits([0.0] * size, end=0, begin=0, **arguments)
            assert np.isfinite(found.scores.numpy()[0, : size if arguments["width"] > 1 else 1]).all()
            assert found.scores.shape[1] == arguments.get("answers", 1)


def test_unknown_sizes_no_rows_and_no_source():
    automaton = Automaton(seed=6)

    def run(rows, mask, table):
        def step(tokens, state, memory):
            _, looks, state = automaton.step(tokens, state, memory)
            return (
                tf.gather_nd(table, tf.stack([state[0], state[1] - 1, tokens], -1)),
                looks[:, : tf.shape(mask)[1]],
                state,
            )

        return beam(step, (rows, tf.zeros_like(rows)), Memory(mask), width=3, answers=2, never=(0,), **LIMITS)

    specs = [tf.TensorSpec([None], tf.int32), tf.TensorSpec([None, None], tf.bool), tf.TensorSpec([None] * 4)]
    unknown = tf.function(run, input_signature=specs, autograph=False)
    table = tf.constant(automaton.logits)
    mask = tf.ones([2, SOURCE], tf.bool)
    for one, other in zip(
        unknown(tf.range(2), mask, table), automaton.decode(beam, width=3, answers=2, never=(0,)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    for ways in (run, unknown):
        assert ways(tf.range(0), mask[:0], table).attention.shape == (0, 2, LENGTH, SOURCE)
        assert ways(tf.range(2), mask[:, :0], table).attention.shape == (2, 2, LENGTH, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0}, "width: expected a number of at least 1. Received: 0"),
        ({"width": 2, "answers": 3}, "answers: expected a number from 1 to the beam width 2. Received: 3"),
        ({"width": 2, "length_penalty": -1.0}, "length_penalty: expected a number of at least 0. Received: -1.0"),
        ({"width": 2, "coverage_penalty": -0.1}, "coverage_penalty: expected a number of at least 0. Received: -0.1"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        Automaton().decode(beam, **arguments)
    assert BEGIN != END
