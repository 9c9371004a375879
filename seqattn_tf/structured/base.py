"""The base class of distributions over structures, with everything that follows from log-potentials and marginals."""

import abc
from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.core.scan import size_of
from seqattn_tf.structured import exact
from seqattn_tf.structured.semirings import finite


class Ranked(NamedTuple):
    """The best structures of every row, best first, with their scores `[batch, k]`.

    Missing structures, in rows with fewer than `k`, have a score of `-inf`. A score minus the log-partition is a
    log-probability.
    """

    structures: Any
    scores: tf.Tensor


def floats(scores: Any, name: str, rank: int | tuple[int, ...]) -> tf.Tensor:
    """Return the scores as floats in at least single precision, which sums of exponentials require."""
    if isinstance(scores, keras.KerasTensor):
        raise ValueError(
            f"{name}: expected numbers, not symbolic tensors of a functional model. Use the distribution "
            "inside a layer: `keras.layers.Lambda(lambda scores: LinearChain(scores, pairwise).marginals)(scores)`, or "
            f"in the `call` of your own layer. Received: {scores!r}"
        )
    scores = tf.convert_to_tensor(scores)
    ranks = (rank,) if isinstance(rank, int) else rank
    if not scores.dtype.is_floating:
        raise ValueError(f"{name}: expected floating-point scores. Received: {scores.dtype.name}")
    if scores.shape.rank not in ranks:
        raise ValueError(f"{name}: expected {' or '.join(map(str, ranks))} axes. Received: shape {scores.shape}")
    return tf.cast(scores, tf.float32) if scores.dtype in (tf.float16, tf.bfloat16) else scores


def as_lengths(lengths: Any, scores: tf.Tensor, size: tf.Tensor | int) -> tf.Tensor:
    """Return the lengths as `int32 [batch]`, clipped to `[0, size]`; `size` for all rows if none are given."""
    if lengths is None:
        return tf.fill([tf.shape(scores)[0]], tf.cast(size, tf.int32))
    lengths = tf.convert_to_tensor(lengths)
    if not lengths.dtype.is_integer or lengths.shape.rank not in (1, None):
        raise ValueError(f"lengths: expected integers [batch]. Received: {lengths.dtype.name} {lengths.shape}")
    if not lengths.shape.is_compatible_with(scores.shape[:1]):
        raise ValueError(f"lengths: expected one for each row of scores {scores.shape}. Received: {lengths.shape}")
    return tf.clip_by_value(tf.cast(lengths, tf.int32), 0, tf.cast(size, tf.int32))


def at_least(count: int, values: tf.Tensor, axis: int = 1) -> tf.Tensor:
    """Pad values with zeros to a minimum size along an axis, because loops need a first step.

    >>> at_least(1, tf.zeros([2, 0])).shape.as_list(), at_least(1, tf.zeros([2, 3])).shape.as_list()
    ([2, 1], [2, 3])
    """
    size = size_of(values, axis)
    if isinstance(size, int) and size >= count:
        return values
    missing = count - size if isinstance(size, int) else tf.maximum(count - size, 0)
    return tf.pad(values, [[0, missing if n == axis else 0] for n in range(values.shape.rank)])


def check_integers(values: Any, name: str, shape: tf.TensorShape) -> tf.Tensor:
    """Return the values as a tensor, checked to be integers of this shape."""
    values = tf.convert_to_tensor(values)
    if not values.dtype.is_integer or not values.shape.is_compatible_with(shape):
        raise ValueError(f"{name}: expected integers {shape}. Received: {values.dtype.name} {values.shape}")
    return values


def two_seeds(seed: Any) -> tf.Tensor:
    """Return a seed of two integers, as TensorFlow's stateless random numbers require, given one or two."""
    seed = tf.convert_to_tensor(seed)
    if not seed.dtype.is_integer or seed.shape.as_list() not in ([], [2]):
        raise ValueError(f"seed: expected one integer or two. Received: {seed.dtype.name} {seed.shape}")
    return tf.stack([seed, tf.zeros_like(seed)]) if seed.shape.rank == 0 else seed


def check_k(k: int) -> int:
    """Return `k`, checked to be a positive integer."""
    if not isinstance(k, Integral) or k < 1:
        raise ValueError(f"k: expected a positive integer. Received: {k!r}")
    return int(k)


def present(scores: tf.Tensor, chosen: tf.Tensor) -> tf.Tensor:
    """Return `scores * chosen`, with zeros where `chosen` is 0, even for infinite scores."""
    return tf.where(chosen > 0, scores, tf.zeros_like(scores)) * chosen


def total(values: tf.Tensor) -> tf.Tensor:
    """Sum over all axes but the first: `[batch, ...] -> [batch]`."""
    return tf.reduce_sum(values, axis=list(range(1, values.shape.rank)))


def _doubles(scores: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    return [tf.cast(s, tf.float64) for s in scores]


def only_the_empty(k: int, dtype: tf.DType) -> tf.Tensor:
    """Return the `k` best scores of a row without positions: 0 for the empty structure, `-inf` for all others."""
    return tf.one_hot(0, k, on_value=0.0, off_value=-float("inf"), dtype=dtype)


class Structured(abc.ABC):
    """A distribution `p(z) = exp(score(z)) / Z`, where scores are sums of the log-potentials of a structure's parts.

    Inference is batched and exact, and objects are immutable. A row of length 0 has one structure, the empty one, and a
    log-partition of 0; so does every row of scores without positions. A part with score `-inf` is forbidden. Scores
    beyond the length of a row have no influence and no gradient; structures are 0 there. Every result is computed on
    access, so access it once, inside a `tf.function` (with or without `jit_compile=True`) for speed.

    A subclass defines `_rules` (log-partition, marginals and their tangents, see `exact.Rules`), `_scores` (the
    log-potentials `[batch, ...]`, zero beyond the length) and the abstract methods here; everything else is derived
    from them. Computations have at least one position (`at_least`); `positions` is the actual number, and `_cut`
    removes the others.
    """

    positions: tf.Tensor | int  # as given, may be 0
    lengths: tf.Tensor  # [batch]

    def _cut(self, structures: Any) -> Any:
        """Undo the padding of structures `[..., positions]` that have no positions."""
        if isinstance(self.positions, int) and self.positions:
            return structures
        return tf.nest.map_structure(lambda v: v[..., : self.positions], structures)

    def _checked(self, structure: Any, name: str) -> tf.Tensor:
        """Check integers `[batch, positions]` of a structure, and pad them to at least one position."""
        return at_least(1, tf.cast(check_integers(structure, name, self.structure_shape), tf.int32))

    @property
    def structure_shape(self) -> tf.TensorShape:
        """The static shape `[batch, positions]` of the tensors of a structure, as far as it is known."""
        return tf.TensorShape([self.lengths.shape[0], self.positions if isinstance(self.positions, int) else None])

    def _cut_marginals(self, marginals: tf.Tensor) -> tf.Tensor:
        """Undo the padding of marginals `[batch, positions, ...]` that have no positions."""
        return marginals if isinstance(self.positions, int) and self.positions else marginals[:, : self.positions]

    @property
    @abc.abstractmethod
    def _rules(self) -> exact.Rules: ...

    @property
    @abc.abstractmethod
    def _scores(self) -> Sequence[tf.Tensor]: ...

    @property
    def log_partition(self) -> tf.Tensor:
        """The log-partition `log Z = log sum_z exp(score(z))`: `[batch]`."""
        return exact.infer(self._rules, *self._scores)[0]

    @property
    def marginals(self) -> tf.Tensor:
        """The probability of every part, in the shape of the scores; zero beyond the length."""
        return self._cut_marginals(exact.infer(self._rules, *self._scores)[1][0])

    def posterior(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Compute `log_partition` and `marginals` together."""
        log_partition, (marginals, *_) = exact.infer(self._rules, *self._scores)
        return log_partition, self._cut_marginals(marginals)

    @property
    @abc.abstractmethod
    def argmax(self) -> Any:
        """The structure with the highest score."""

    @abc.abstractmethod
    def top_k(self, k: int) -> Ranked:
        """Return the `k` structures with the highest scores, best first."""

    @abc.abstractmethod
    def sample(self, n: int, seed: Any) -> Any:
        """Draw `n` independent structures for every row, `[n, batch, ...]`; equal seeds give equal structures."""

    @abc.abstractmethod
    def score(self, structure: Any) -> tf.Tensor:
        """Return the sum of the log-potentials of a structure's parts: `[batch]`."""

    def log_prob(self, structure: Any) -> tf.Tensor:
        """Return the log-probability of a structure, `[batch]`; `-inf` in rows without a possible structure."""
        log_partition = self.log_partition
        possible = log_partition > -float("inf")
        return tf.where(possible, self.score(structure) - finite(log_partition), -float("inf"))

    @property
    def entropy(self) -> tf.Tensor:
        """The entropy `-sum_z p(z) log p(z)` in nats, `[batch]`; 0 in rows without a possible structure.

        It is computed in double precision, because it is a small difference of numbers as large as the scores.
        """
        scores = _doubles(self._scores)
        log_partition, marginals = exact.infer(self._rules, *scores)
        expected = tf.add_n([total(present(s, m)) for s, m in zip(scores, marginals, strict=True)])
        return tf.cast(finite(log_partition) - expected, self._scores[0].dtype)

    def kl(self, other: "Structured") -> tf.Tensor:
        """Return the Kullback-Leibler divergence `sum_z p(z) log(p(z) / q(z))` to another distribution `q`: `[batch]`.

        It is infinite, with a gradient of 0, where the other distribution forbids what this one allows, and 0 in rows
        without a possible structure. Both distributions must have scores of the same shape and rows of the same
        lengths. Different lengths raise an error if they are known (when a graph is traced, or in eager mode);
        otherwise they make a row infinite. Like the entropy, it is computed in double precision.
        """
        self._check_comparable(other)
        scores, others = _doubles(self._scores), _doubles(other._scores)
        for ours, theirs in zip(scores, others, strict=True):
            if not ours.shape.is_compatible_with(theirs.shape):
                raise ValueError(f"kl: expected scores {ours.shape}. Received: {theirs.shape}")
        log_partition, marginals = exact.infer(self._rules, *scores)
        other_log_partition, _ = exact.infer(other._rules, *others)
        missed = [
            total(tf.where(o > -float("inf"), tf.zeros_like(m), m)) for o, m in zip(others, marginals, strict=True)
        ]
        gains = [total(present(s - finite(o), m)) for s, o, m in zip(scores, others, marginals, strict=True)]
        found = finite(other_log_partition) - finite(log_partition) + tf.add_n(gains)
        impossible = (other_log_partition == -float("inf")) | (tf.add_n(missed) > 0)
        found = tf.where(impossible, tf.constant(float("inf"), found.dtype), found)
        found = tf.where(log_partition > -float("inf"), found, tf.zeros_like(found))
        found = tf.where(self.lengths == other.lengths, found, tf.constant(float("inf"), found.dtype))
        return tf.cast(found, self._scores[0].dtype)

    def _check_comparable(self, other: "Structured") -> None:
        """Check that another distribution is over the same structures, as far as this is known."""
        if type(other) is not type(self):
            raise ValueError(f"kl: expected a {type(self).__name__}. Received: {type(other).__name__}")
        ours, theirs = tf.get_static_value(self.lengths), tf.get_static_value(other.lengths)
        if ours is not None and theirs is not None and (ours.shape != theirs.shape or (ours != theirs).any()):
            raise ValueError(f"kl: expected the lengths {ours.tolist()}. Received: {theirs.tolist()}")
