"""The base class of structures whose argmax, k best and samples are computed by one chart and one backward pass."""

import abc
from typing import Any

import tensorflow as tf

from seqattn_tf.core.scan import to_time_major
from seqattn_tf.structured.base import Ranked, Structured, check_k, two_seeds
from seqattn_tf.structured.semirings import Drawn, KBest, Log, Max, Semiring


class Charted(Structured):
    """A structured distribution with a chart. Subclasses define how to fill it over a semiring and how to read it."""

    @abc.abstractmethod
    def _chart(self, ring: Semiring) -> Any:
        """Return the chart that a pass over the scores computes."""

    @abc.abstractmethod
    def _whole(self, ring: Semiring, chart: Any) -> tf.Tensor:
        """Return the sum over all structures of each row, `[batch]`, or the k best ones, `[batch, k]`."""

    @abc.abstractmethod
    def _single(self, ring: Semiring, chart: Any, rank: tf.Tensor | None, repeats: int) -> Any:
        """Return single structures `[batch * repeats, ...]`, grouped by row; for the k best, by rank."""

    @property
    def argmax(self) -> Any:
        """The structure with the highest score."""
        return self._cut(self._single(Max(), self._chart(Max()), None, 1))

    def top_k(self, k: int) -> Ranked:
        """Return the `k` structures with the highest scores, `[batch, k, ...]`, best first, and these scores."""
        ring = KBest(check_k(k))
        chart = self._chart(ring)
        ranks = tf.tile(tf.range(ring.k), tf.shape(self.lengths))
        structures = _by_row(self._single(ring, chart, ranks, ring.k), ring.k)
        return Ranked(self._cut(structures), self._whole(ring, chart))

    def sample(self, n: int, seed: Any) -> Any:
        drawn = self._single(Drawn(two_seeds(seed)), self._chart(Log()), None, n)
        return self._cut(tf.nest.map_structure(to_time_major, _by_row(drawn, n)))


def _by_row(structures: Any, count: int) -> Any:
    return tf.nest.map_structure(lambda v: tf.reshape(v, [-1, count, tf.shape(v)[1]]), structures)
