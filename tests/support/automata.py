"""Step functions without a model, and the correct results of decoding them, by loops over every sequence."""

import itertools
from typing import NamedTuple

import numpy as np
import tensorflow as tf

BEGIN, END, SIZE, LENGTH, SOURCE = 1, 2, 5, 4, 3
LIMITS = {"begin": BEGIN, "end": END, "max_length": LENGTH}
EVERY = 320  # A beam width that covers everything: the 4^3 prefixes before the last step, each with every symbol.


class Memory(NamedTuple):
    mask: tf.Tensor


class Automaton:
    """A step function with logits and attention from a table by row, time and previous symbol."""

    def __init__(self, rows=2, seed=0, scale=1.5, end=0.0, length=LENGTH):
        rng = np.random.default_rng(seed)
        self.logits = (rng.normal(size=(rows, length + 1, SIZE, SIZE)) * scale).astype("float32")
        self.logits[..., END] += end
        self.looks = (rng.uniform(size=(rows, length + 1, SIZE, SOURCE)) * 0.5).astype("float32")
        self.rows, self.calls = rows, 0

    def step(self, tokens, state, memory):
        self.calls += 1
        row, time = state
        place = tf.stack([row, time, tokens], axis=-1)
        return tf.gather_nd(self.logits, place), tf.gather_nd(self.looks, place), (row, time + 1)

    def decode(self, way, compiled=None, **arguments):
        """Decode with the given function, either eagerly, in a graph, or in a graph compiled by XLA."""

        def run():
            state = (tf.range(self.rows), tf.zeros([self.rows], tf.int32))
            memory = Memory(tf.ones([self.rows, SOURCE], tf.bool))
            return way(self.step, state, memory, **{**LIMITS, **arguments})

        return run() if compiled is None else tf.function(run, jit_compile=compiled, autograph=False)()

    def log_probabilities(self, row):
        logits = self.logits[row].astype("float64")
        return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


class Found(NamedTuple):
    rank: float
    score: float
    tokens: tuple
    attention: np.ndarray


def may_be(tokens, limit, never=(), allowed=None, min_length=0, no_repeat=0, prefix=()):
    """Return whether the rules allow a sequence; they do not apply to the prefix, which has no padding here."""
    led, free = tokens[: len(prefix)], [*tokens[len(prefix) :], *([END] if len(tokens) < limit else [])]
    if led != tuple(prefix[: len(tokens)]) or (len(tokens) < min(len(prefix), limit)):
        return False
    if any(one in never or (allowed is not None and not allowed[one]) for one in free):
        return False
    if len(tokens) < min(min_length, limit):
        return False
    for end in range(max(len(prefix), no_repeat) + 1 if no_repeat else len(tokens) + 1, len(tokens) + 1):
        if no_repeat and tokens[end - no_repeat : end] in [tokens[i : i + no_repeat] for i in range(end - no_repeat)]:
            return False
    return True


def exhaustive(automaton, row, limit=LENGTH, length_penalty=0.0, coverage_penalty=0.0, **rules):
    """Return every possible answer to a row, best first."""
    table, looks, found = automaton.log_probabilities(row), automaton.looks[row], []
    for count in range(limit + 1):
        for tokens in itertools.product([symbol for symbol in range(SIZE) if symbol != END], repeat=count):
            if not may_be(tokens, limit, **rules):
                continue
            before = (BEGIN, *tokens)
            said = (*tokens, *([END] if count < limit else []))
            score = sum(table[time, before[time], symbol] for time, symbol in enumerate(said))
            attention = np.reshape([looks[time, before[time]] for time in range(count)], [count, SOURCE])
            coverage = np.log(np.clip(attention.sum(0), 1e-6, 1)).sum()
            rank = score / ((5 + count) / 6) ** length_penalty + coverage_penalty * coverage
            found.append(Found(rank, score, tokens, attention))
    return sorted(found, key=lambda one: -one.rank)


def search(automaton, row, width, length_penalty=0.0, limit=LENGTH):
    """Beam search as plain loops that never stop early."""
    table, running, pool = automaton.log_probabilities(row), [(0.0, ())], []
    for time in range(limit):
        results = [
            (score + table[time, (BEGIN, *tokens)[-1], symbol], (*tokens, symbol))
            for score, tokens in running
            for symbol in range(SIZE)
        ]
        results.sort(key=lambda one: -one[0])
        best = [one for one in results[:width] if one[1][-1] == END or time + 1 == limit]
        pool += [(score, tokens[:-1] if tokens[-1] == END else tokens) for score, tokens in best]
        running = [one for one in results if one[1][-1] != END][:width]
    return sorted(pool, key=lambda one: -one[0] / ((5 + len(one[1])) / 6) ** length_penalty)


def assert_same(found, row, expected):
    """Check that the answers of a row have the expected tokens, scores, ranks and attention."""
    for place, one in enumerate(expected):
        count = len(one.tokens)
        assert int(found.lengths[row, place]) == count
        assert found.tokens[row, place].numpy().tolist() == [*one.tokens, *[0] * (LENGTH - count)]
        np.testing.assert_allclose(found.scores[row, place], one.score, rtol=1e-4)
        np.testing.assert_allclose(found.ranks[row, place], one.rank, rtol=1e-4)
        np.testing.assert_allclose(found.attention[row, place, :count], one.attention, rtol=1e-5)
        assert (found.attention[row, place, count:].numpy() == 0).all()
