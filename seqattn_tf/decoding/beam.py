"""Beam search: the best answers that a search of limited width finds.

    rank(Y) = log P(Y) / lp(Y) + cp(Y)
    lp(Y) = ((5 + |Y|) / 6) ^ alpha        cp(Y) = beta sum_i log min(sum_t a_ti, 1)        (Wu et al. 2016)

Every step continues the `width` most probable beginnings of a row by every symbol. Of the `width` most probable results
those that have ended leave the search for the pool, where the answers are kept that rank best; the search goes on with
the `width` most probable results that have not. A row stops when nothing in the search can still enter its pool: more
symbols only lower `log P`, which is at most 0, so that a beginning never ranks above `log P / lp(longest)`.

What was said is not carried along: every step notes the symbols and from which beam each came, and the way back through
these notes gives the answers and their attention.
"""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from seqattn_tf.core.scan import scan, size_of
from seqattn_tf.decoding.best import best
from seqattn_tf.decoding.record import Record, alike, record, stacked, write
from seqattn_tf.decoding.rules import IMPOSSIBLE, Rules, Step, log_probability, log_total, possible

_UNSEEN = 1e-6  # the least a place counts as looked at: the coverage penalty stays finite


class Beams(NamedTuple):
    """The best answers for each row, best first. Where there are fewer, the others are empty, with `-inf` as score."""

    tokens: tf.Tensor  # [batch, answers, max_length] int32, the end symbol excluded, zeros after the answer
    scores: tf.Tensor  # [batch, answers] float32, log-probability of the answer, its end included unless it was cut
    lengths: tf.Tensor  # [batch, answers] int32, number of symbols
    attention: tf.Tensor  # [batch, answers, max_length, source] float32, zeros after the answer
    ranks: tf.Tensor  # [batch, answers] float32, what the answers are ordered by


class _Pool(NamedTuple):
    """Answers that have ended, `[batch, answers]` each."""

    ranks: tf.Tensor
    scores: tf.Tensor
    lengths: tf.Tensor
    beams: tf.Tensor  # the beam that had said the answer


class _Found(NamedTuple):
    """The best results of a step, best first: `[batch, 2 x width]` each."""

    scores: tf.Tensor
    tokens: tf.Tensor
    parents: tf.Tensor  # the beam that each one continues
    ends: tf.Tensor  # whether the token is the end


class _Progress(NamedTuple):
    time: tf.Tensor  # []
    last: tf.Tensor  # [rows] the symbols just chosen; rows = batch x width
    scores: tf.Tensor  # [batch, width] best first; -inf where nothing is searched
    state: Any  # [rows, ...] each
    pool: _Pool
    said: tuple  # ([rows, max_length],) if a rule asks what was said
    looked: tuple  # ([rows, source],) the attention so far, if there is a coverage penalty
    tokens: Record  # [batch, width] at each step
    parents: Record  # [batch, width] the beam that each one continues
    attention: Record  # [rows, source] of the beams that are continued


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
    """Decode by beam search; with a width of 1 and no penalty, this is greedy decoding.

    Args:
        step, state, memory, begin, end, max_length: as in `greedy`. The step sees `batch x width` rows, and so many of
            the memory; or, if it has a method `for_beams(width)` that returns a step, as a decoder's `stepper()` has,
            that one sees the memory as it is given.
        width: how many beginnings are continued at every step.
        answers: how many answers to return for each row, at most `width`.
        length_penalty: alpha; above 0, longer answers rank better than their probability.
        coverage_penalty: beta; above 0, answers rank worse for places that were looked at by less than 1 in all.
        **rules: as in `greedy`.

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
        raise ValueError(f"answers: expected a number from 1 to {width}, the width. Received: {answers}")
    for name, value in (("length_penalty", length_penalty), ("coverage_penalty", coverage_penalty)):
        if not isinstance(value, Real) or not value >= 0:
            raise ValueError(f"{name}: expected a number of at least 0. Received: {value!r}")


class Ranking:
    """What answers are ordered by."""

    def __init__(self, alpha: float, beta: float, max_length: int) -> None:
        self.lengths = alpha > 0
        self.places = beta > 0
        self._beta = beta
        self._penalties = (((5 + np.arange(max_length + 1)) / 6) ** alpha).astype("float32")

    def by_length(self, scores: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        """`log P / lp`."""
        return scores / tf.gather(self._penalties, lengths) if self.lengths else scores

    def coverage(self, looked: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """`cp`: `[rows, source], [rows, source] -> [rows]`."""
        covered = tf.math.log(tf.clip_by_value(looked, _UNSEEN, 1.0))
        return self._beta * tf.reduce_sum(tf.where(mask, covered, 0.0), axis=-1)


class _Search:
    """One search: what its steps share."""

    def __init__(self, step: Step, memory: Any, rules: Rules, width: int, answers: int, ranking: Ranking) -> None:
        self.rules, self.width, self.answers, self.ranking = rules, width, answers, ranking
        self.batch = tf.shape(memory.mask)[0]
        self.limits = rules.limits(self.batch)  # [batch]
        self.row_rules, self.mask = rules.for_beams(width), self._repeated(memory.mask)
        shared = step.for_beams(width) if hasattr(step, "for_beams") and width > 1 else None
        self.step = step if shared is None else shared
        self.memory = self._repeated(memory) if shared is None else memory

    def _repeated(self, structure: Any) -> Any:
        """Every row `width` times, one after the other."""
        if self.width == 1:
            return structure
        return tf.nest.map_structure(lambda one: tf.repeat(one, self.width, axis=0), structure)

    def run(self, state: Any) -> Beams:
        """Search, and go back along what was found."""
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
        only = tf.where(tf.range(self.width) == 0, 0.0, IMPOSSIBLE)  # equal beams would stay equal: begin with one
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
        """Nothing; in a row that may not say anything, the empty answer."""
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
        reach = self.ranking.by_length(scores[:, 0], self.limits)  # no continuation ranks above it
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
        """The best results of a step: enough that `width` of them have not ended, for each beam ends at most once."""
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
        """The pool with those of the `width` best results that have ended, or are cut."""
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
        """What the parents had, for the beams that continue them."""
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

        before, _ = scan(step, (stacked(end.parents), kept), pool.beams, reverse=True)
        after = tf.concat([before[1:], pool.beams[None]], axis=0)  # [max_length, batch, answers]
        tokens = tf.where(kept, tf.gather(stacked(end.tokens), after, batch_dims=2), 0)
        looks = stacked(end.attention)  # [max_length, rows, source]
        looks = tf.reshape(looks, [length, self.batch, self.width, tf.shape(looks)[2]])
        attention = tf.where(kept[..., None], tf.gather(looks, before, batch_dims=2), 0.0)
        return Beams(
            tf.transpose(tokens, [1, 2, 0]),
            pool.scores,
            pool.lengths,
            tf.transpose(attention, [1, 2, 0, 3]),
            pool.ranks,
        )
