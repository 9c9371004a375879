"""Beam search: the best outputs found by a search of limited width.

    rank(Y) = log P(Y) / lp(Y) + cp(Y)
    lp(Y) = ((5 + |Y|) / 6) ^ alpha        cp(Y) = beta sum_i log min(sum_t a_ti, 1)        (Wu et al. 2016)

Every step extends the `width` most probable hypotheses of a row by every symbol. Of the `width` most probable results,
those that have ended move from the search to a pool, which holds the outputs with the best ranks. The search continues
with the `width` most probable results that have not ended. A row stops when no hypothesis can enter its pool any more:
further symbols only lower `log P`, which is at most 0, so a hypothesis never ranks above `log P / lp(longest)`.

Hypotheses are not copied: every step records the symbols and the beam that each of them extends, and backtracking
through these records yields the outputs and their attention.
"""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from seqattn_tf.core.scan import scan, size_of
from seqattn_tf.decoding.best import best
from seqattn_tf.decoding.record import Record, alike, record, stacked, write
from seqattn_tf.decoding.rules import IMPOSSIBLE, Rules, Step, log_probability, log_total, possible

_UNSEEN = 1e-6  # the minimum coverage of a position, which keeps the penalty finite


class Beams(NamedTuple):
    """The best outputs for each row, best first.

    If there are fewer, the remaining ones are empty and have a score of `-inf`.
    """

    tokens: tf.Tensor  # [batch, answers, max_length] int32, without the end symbol, zero-padded
    scores: tf.Tensor  # [batch, answers] float32, log-probability, including the end unless cut off
    lengths: tf.Tensor  # [batch, answers] int32, number of symbols
    attention: tf.Tensor  # [batch, answers, max_length, source] float32, zero-padded
    ranks: tf.Tensor  # [batch, answers] float32, the criterion of the order


class _Pool(NamedTuple):
    """Outputs that have ended, `[batch, answers]` each."""

    ranks: tf.Tensor
    scores: tf.Tensor
    lengths: tf.Tensor
    beams: tf.Tensor  # the beam that contains the output


class _Found(NamedTuple):
    """The best results of a step, best first: `[batch, 2 x width]` each."""

    scores: tf.Tensor
    tokens: tf.Tensor
    parents: tf.Tensor  # the beam that each result extends
    ends: tf.Tensor  # whether the token is the end


class _Progress(NamedTuple):
    time: tf.Tensor  # []
    last: tf.Tensor  # [rows] the last symbols; rows = batch x width
    scores: tf.Tensor  # [batch, width] best first; -inf for inactive beams
    state: Any  # [rows, ...] each
    pool: _Pool
    said: tuple  # ([rows, max_length],) if a rule needs the previous symbols
    looked: tuple  # ([rows, source],) total attention so far, for the coverage penalty
    tokens: Record  # [batch, width] at each step
    parents: Record  # [batch, width] the beam that each beam extends
    attention: Record  # [rows, source] of the extended beams


def beam(
    step: Step,
    state: Any,
    memory: Any,
    *,
    width: int,
    answers: int = 1,
    length_penalty: float = 0.0,
    coverage_penalty: float = 0.0,
    begin: Any,
    end: int,
    max_length: int,
    **rules: Any,
) -> Beams:
    """Decode by beam search. With a width of 1 and no penalty, this is greedy decoding.

    Args:
        step, state, memory, begin, end, max_length: As in `greedy`. The step receives `batch x width` rows and as many
            rows of the memory. If it has a method `for_beams(width)` that returns a step, as the `stepper()` of a
            decoder has, that step receives the memory unchanged.
        width: The number of hypotheses that are extended at every step.
        answers: The number of outputs to return for each row, at most `width`.
        length_penalty: The exponent alpha. Above 0, longer outputs rank better than their probability.
        coverage_penalty: The weight beta. Above 0, outputs rank worse if positions get a total attention below 1.
        **rules: As in `greedy`.

    >>> from collections import namedtuple
    >>> memory = namedtuple("Memory", "mask")(tf.constant([[True]]))
    >>> table = tf.math.log([[0.0, 0.6, 0.4, 0.0], [0.0, 0.4, 0.2, 0.4], [0.0, 0.1, 0.0, 0.9], [1.0, 0.0, 0.0, 0.0]])
    >>> chain = lambda token, state, memory: (tf.gather(table, token), tf.ones([3, 1]), state)
    >>> found = beam(chain, (), memory, width=3, answers=2, begin=0, end=3, max_length=3)
    >>> found.tokens[0].numpy().tolist(), [f"{probability:.2f}" for probability in tf.exp(found.scores[0])]
    ([[2, 0, 0], [1, 0, 0]], ['0.36', '0.24'])
    """
    _check(width, answers, length_penalty, coverage_penalty)
    ranking = Ranking(length_penalty, coverage_penalty, max_length)
    search = _Search(step, memory, Rules(begin, end, max_length, **rules), width, answers, ranking)
    return search.run(state)


def _check(width: int, answers: int, length_penalty: float, coverage_penalty: float) -> None:
    if width < 1:
        raise ValueError(f"width: expected a number of at least 1. Received: {width}")
    if not 1 <= answers <= width:
        raise ValueError(f"answers: expected a number from 1 to the beam width {width}. Received: {answers}")
    for name, value in (("length_penalty", length_penalty), ("coverage_penalty", coverage_penalty)):
        if not isinstance(value, Real) or not value >= 0:
            raise ValueError(f"{name}: expected a number of at least 0. Received: {value!r}")


class Ranking:
    """The criterion by which outputs are ordered."""

    def __init__(self, alpha: float, beta: float, max_length: int) -> None:
        self.lengths = alpha > 0
        self.places = beta > 0
        self._beta = beta
        self._penalties = (((5 + np.arange(max_length + 1)) / 6) ** alpha).astype("float32")

    def by_length(self, scores: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        """Return `log P / lp`."""
        return scores / tf.gather(self._penalties, lengths) if self.lengths else scores

    def coverage(self, looked: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Return `cp`: `[rows, source], [rows, source] -> [rows]`."""
        covered = tf.math.log(tf.clip_by_value(looked, _UNSEEN, 1.0))
        return self._beta * tf.reduce_sum(tf.where(mask, covered, 0.0), axis=-1)


class _Search:
    """A beam search: the parameters and tensors that its steps share."""

    def __init__(self, step: Step, memory: Any, rules: Rules, width: int, answers: int, ranking: Ranking) -> None:
        self.rules, self.width, self.answers, self.ranking = rules, width, answers, ranking
        self.batch = tf.shape(memory.mask)[0]
        self.limits = rules.limits(self.batch)  # [batch]
        self.row_rules, self.mask = rules.for_beams(width), self._repeated(memory.mask)
        shared = step.for_beams(width) if hasattr(step, "for_beams") and width > 1 else None
        self.step = step if shared is None else shared
        self.memory = self._repeated(memory) if shared is None else memory

    def _repeated(self, structure: Any) -> Any:
        """Repeat every row `width` times in succession."""
        if self.width == 1:
            return structure
        return tf.nest.map_structure(lambda one: tf.repeat(one, self.width, axis=0), structure)

    def run(self, state: Any) -> Beams:
        """Run the search and backtrack through its records."""
        [end] = tf.while_loop(
            lambda now: tf.reduce_any(now.scores[:, 0] > IMPOSSIBLE),
            lambda now: [alike(self._advance(now), now)],
            [self._start(self._repeated(state))],
            maximum_iterations=self.rules.max_length,
        )
        return self._way_back(end)

    def _start(self, state: Any) -> _Progress:
        length, rows = self.rules.max_length, self.batch * self.width
        beams = tf.zeros([self.batch, self.width], tf.int32)
        looked = tf.zeros_like(self.mask, tf.float32)  # [rows, source]
        # Identical beams would remain identical, so start with a single one.
        only = tf.where(tf.range(self.width) == 0, 0.0, IMPOSSIBLE)
        scores = tf.where(self.limits[:, None] > 0, only, IMPOSSIBLE)
        return _Progress(
            tf.constant(0),
            self._repeated(self.rules.first(self.batch)),
            scores,
            state,
            self._first_pool(looked),
            self.rules.empty_history(rows),
            (looked,) if self.ranking.places else (),
            record(beams, length),
            record(beams, length),
            record(looked, length),
        )

    def _first_pool(self, looked: tf.Tensor) -> _Pool:
        """Return a pool without outputs, or with the empty output for rows of maximum length 0."""
        first = (tf.range(self.answers) == 0) & (self.limits[:, None] <= 0)
        scores = tf.where(first, 0.0, IMPOSSIBLE)  # [batch, answers]
        nothing = tf.zeros([self.batch, self.answers], tf.int32)
        ranks = scores + self._coverage(looked)[:, :1] if self.ranking.places else scores
        return _Pool(ranks, scores, nothing, nothing)

    def _coverage(self, looked: tf.Tensor) -> tf.Tensor:
        return tf.reshape(self.ranking.coverage(looked, self.mask), [self.batch, self.width])

    def _advance(self, now: _Progress) -> _Progress:
        logits, weights, state = self.step(now.last, now.state, self.memory)
        weights = tf.cast(weights, tf.float32)
        found = self._best(now, possible(logits))
        looked = tuple(before + weights for before in now.looked)
        pool = self._pooled(now, found, looked)

        scores, order = tf.math.top_k(tf.where(found.ends, IMPOSSIBLE, found.scores), self.width)
        parents, tokens = (tf.gather(one, order, batch_dims=1) for one in (found.parents, found.tokens))
        reach = self.ranking.by_length(scores[:, 0], self.limits)  # the upper bound for all continuations
        goes_on = (reach > pool.ranks[:, -1]) & (now.time + 1 < self.limits)
        state, said, looked = self._continued(parents, (state, now.said, looked))
        last = tf.reshape(tokens, [self.batch * self.width])
        return _Progress(
            now.time + 1,
            last,
            tf.where(goes_on[:, None], scores, IMPOSSIBLE),
            state,
            pool,
            self.rules.hear(said, now.time, last),
            looked,
            write(now.tokens, now.time, tokens),
            write(now.parents, now.time, parents),
            write(now.attention, now.time, weights),
        )

    def _best(self, now: _Progress, logits: tf.Tensor) -> _Found:
        """Return the `2 x width` best results of a step.

        At least `width` have not ended: each beam ends at most once.
        """
        found, tokens = best(self.row_rules.apply(logits, now.time, *now.said), self.width + 1)  # [rows, count]
        count = size_of(found, -1)
        gained = log_probability(found, log_total(logits)[:, None])
        scores = now.scores[:, :, None] + tf.reshape(gained, [self.batch, self.width, count])
        scores, tokens = (tf.reshape(one, [self.batch, self.width * count]) for one in (scores, tokens))
        if not isinstance(count, int) or count < 2:
            scores = tf.pad(scores, [[0, 0], [0, self.width]], constant_values=IMPOSSIBLE)
            tokens = tf.pad(tokens, [[0, 0], [0, self.width]])
        scores, places = tf.math.top_k(scores, 2 * self.width)
        tokens = tf.gather(tokens, places, batch_dims=1)
        return _Found(scores, tokens, tf.minimum(places // count, self.width - 1), tokens == self.rules.end)

    def _pooled(self, now: _Progress, found: _Found, looked: tuple) -> _Pool:
        """Add to the pool those of the `width` best results that have ended or are cut off."""
        first = _Found(*(one[:, : self.width] for one in found))
        goes_on = tf.cast(~first.ends, tf.int32)
        cut = now.time + 1 >= self.limits
        scores = tf.where(first.ends | cut[:, None], first.scores, IMPOSSIBLE)
        lengths = now.time + goes_on
        ranks = self.ranking.by_length(scores, lengths)
        if self.ranking.places:
            before, after = (
                tf.gather(self._coverage(one), first.parents, batch_dims=1) for one in (now.looked[0], looked[0])
            )
            ranks += tf.where(first.ends, before, after)
        beams = tf.where(first.ends, first.parents, tf.cumsum(goes_on, axis=1, exclusive=True))
        every = _Pool(
            *(tf.concat(pair, axis=1) for pair in zip(now.pool, (ranks, scores, lengths, beams), strict=True))
        )
        ranks, order = tf.math.top_k(every.ranks, self.answers)
        return _Pool(ranks, *(tf.gather(one, order, batch_dims=1) for one in every[1:]))

    def _continued(self, parents: tf.Tensor, structure: Any) -> Any:
        """Select the rows of the parents for the beams that extend them."""
        if self.width == 1:
            return structure
        rows = tf.reshape(tf.range(self.batch)[:, None] * self.width + parents, [self.batch * self.width])
        return tf.nest.map_structure(lambda one: tf.gather(one, rows), structure)

    def _way_back(self, end: _Progress) -> Beams:
        length, pool = self.rules.max_length, end.pool
        times = tf.range(length)
        kept = times[:, None, None] < pool.lengths  # [max_length, batch, answers]

        def step(element: tuple, beams: tf.Tensor) -> tf.Tensor:
            parents, kept = element
            return tf.where(kept, tf.gather(parents, beams, batch_dims=1), beams)

        before, _ = scan(step, (stacked(end.parents, 2), kept), pool.beams, reverse=True)
        after = tf.concat([before[1:], pool.beams[None]], axis=0)  # [max_length, batch, answers]
        tokens = tf.where(kept, tf.gather(stacked(end.tokens, 2), after, batch_dims=2), 0)
        looks = stacked(end.attention, 2)  # [max_length, rows, source]
        looks = tf.reshape(looks, [length, self.batch, self.width, tf.shape(looks)[2]])
        attention = tf.where(kept[..., None], tf.gather(looks, before, batch_dims=2), 0.0)
        return Beams(
            tf.transpose(tokens, [1, 2, 0]),
            pool.scores,
            pool.lengths,
            tf.transpose(attention, [1, 2, 0, 3]),
            pool.ranks,
        )
