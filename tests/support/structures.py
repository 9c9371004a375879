"""Enumeration of all structures of a tiny size, as the reference for exact inference, and tests for all structures."""

import functools
import itertools

import numpy as np
import pytest
import tensorflow as tf

from support.gradients import assert_slopes
from support.slow import slow


def heads_without_cycle(heads):
    """Return whether every word reaches the root, 0, by following heads."""
    for word in range(1, len(heads) + 1):
        seen = set()
        while word and word not in seen:
            seen.add(word)
            word = heads[word - 1]
        if word:
            return False
    return True


def crossing_free(heads):
    """Return whether no two arcs cross, including those of the root."""
    arcs = [tuple(sorted((word, head))) for word, head in enumerate(heads, 1)]
    return not any(a < c < b < d for (a, b), (c, d) in itertools.permutations(arcs, 2))


def all_trees(words, single_root, projective):
    """Yield the heads of every dependency tree over a number of words."""
    for heads in itertools.product(range(words + 1), repeat=words):
        if single_root and heads.count(0) > 1:
            continue
        if heads_without_cycle(heads) and (not projective or crossing_free(heads)):
            yield heads


def all_segmentations(length, longest, labels):
    """Yield `(start, width, label)` of every segment, for every labeled segmentation of a number of positions."""
    if length == 0:
        yield ()
        return
    for width in range(1, min(longest, length) + 1):
        for rest in all_segmentations(length - width, longest, labels):
            for label in range(labels):
                yield (*rest, (length - width, width, label))


class Row:
    """The distribution of one row, by listing its structures.

    Args:
        structures: All structures of the row, each a list of integer arrays (as the class under test returns them).
        parts: The parts of every structure: one 0/1 (or counting) array for each array of scores.
        scores: The log-potentials of the row.
    """

    def __init__(self, structures, parts, scores):
        self.structures, self.parts = structures, parts
        with np.errstate(invalid="ignore"):
            self.scores = np.array(
                [sum(np.where(p > 0, p * s, 0.0).sum() for p, s in zip(ps, scores, strict=True)) for ps in parts],
                dtype=np.float64,
            )
        self.log_partition = np.logaddexp.reduce(self.scores)
        self.probabilities = np.exp(self.scores - self.log_partition) if np.isfinite(self.log_partition) else None

    def find(self, structure):
        """Return the index of a structure."""
        [number] = [n for n, s in enumerate(self.structures) if all(map(np.array_equal, s, structure))]
        return number

    def marginals(self, which):
        return sum(p * ps[which] for p, ps in zip(self.probabilities, self.parts, strict=True))

    @property
    def entropy(self):
        p = self.probabilities[self.probabilities > 0]
        return -(p * np.log(p)).sum()

    def kl(self, other):
        keep = self.probabilities > 0
        p, q = self.probabilities[keep], other.probabilities[keep]
        return (p * np.log(p / q)).sum()


def leaves(structure):
    """Return the integer arrays of a structure."""
    return [np.asarray(leaf) for leaf in tf.nest.flatten(structure)]


class ExactTests:
    """The tests of structured distributions, compared with enumeration.

    Subclasses define the class attributes, `draw(dtype, seed)` (one array for each argument of scores),
    `build(*scores, lengths=...)`, and `enumerate_row(length, *scores_of_the_batch, row)`, which returns a `Row`. Scores
    without a batch axis are shared by all rows.
    """

    lengths = (4, 2, 1, 0)  # smaller than the scores; values beyond them must not be used
    ranks = True  # whether top_k exists
    slopes_of_entropy = True  # whether they are tested for finite values: the formula is the same for all
    known = ()  # axes whose size must be known during tracing
    tolerance = {"float32": 3e-5, "float64": 1e-11}

    def rows(self, scores, lengths=None):
        lengths = self.lengths if lengths is None else lengths
        wide = [s.astype(np.float64) for s in scores]
        return [self.enumerate_row(length, wide, row) for row, length in enumerate(lengths)]

    def near(self, actual, desired, dtype, scale=1.0):
        size = scale * self.tolerance[dtype]
        np.testing.assert_allclose(np.asarray(actual, np.float64), desired, atol=size, rtol=size)

    def case(self, dtype="float64", seed=0):
        scores = self.draw(dtype, seed)
        return scores, self.build(*scores, lengths=np.array(self.lengths)), self.rows(scores)

    def expected_marginals(self, rows, which, shape):
        found = np.zeros(shape)
        for number, row in enumerate(rows):
            found[number] = row.marginals(which)
        return found

    def test_log_partition_and_marginals(self):
        _, dist, rows = self.case()
        self.near(dist.log_partition, [row.log_partition for row in rows], "float64")
        marginals = dist.marginals.numpy()
        assert marginals.dtype == "float64"
        self.near(marginals, self.expected_marginals(rows, 0, marginals.shape), "float64")

    def test_argmax(self):
        _, dist, rows = self.case()
        best = leaves(dist.argmax)
        for number, row in enumerate(rows):
            assert row.find([leaf[number] for leaf in best]) == row.scores.argmax()

    def test_top_k(self):
        if not self.ranks:
            pytest.skip("has no k best")
        _, dist, rows = self.case()
        for k in (1, 7):
            structures, scores = dist.top_k(k)
            found = leaves(structures)
            for number, row in enumerate(rows):
                order = np.argsort(-row.scores)[:k]
                self.near(scores[number, : len(order)], row.scores[order], "float64")
                assert np.all(np.isneginf(scores[number, len(order) :]))
                assert [row.find([leaf[number, n] for leaf in found]) for n in range(len(order))] == order.tolist()
        with pytest.raises(ValueError, match="k: expected a positive integer"):
            dist.top_k(0)

    def test_samples_match_marginals_and_probabilities(self):
        _, dist, rows = self.case("float32")
        n = 4000
        found = leaves(dist.sample(n, seed=7))
        for number, row in enumerate(rows):
            counts = np.zeros(len(row.structures))
            drawn, times = np.unique(
                np.stack([np.concatenate([leaf[i, number].ravel() for leaf in found]) for i in range(n)]),
                axis=0,
                return_counts=True,
            )
            keys = {np.concatenate([a.ravel() for a in s]).tobytes(): i for i, s in enumerate(row.structures)}
            for key, time in zip(drawn, times, strict=True):
                counts[keys[key.astype(np.int64).tobytes()]] += time
            drawn_parts = sum(c / n * parts[0] for c, parts in zip(counts, row.parts, strict=True))
            exact = row.marginals(0)
            assert np.all(np.abs(drawn_parts - exact) <= 4 * np.sqrt(exact * (1 - exact) / n) + 1e-9)
            expected = n * row.probabilities
            many = expected >= 5  # for all of them together: chi-square minus its mean, in standard deviations
            deviation = np.sum((counts - expected)[many] ** 2 / expected[many])
            assert deviation <= many.sum() + 4 * np.sqrt(2 * many.sum())

    @pytest.mark.slow
    def test_samples_are_reproducible_eager_and_compiled(self):
        scores, dist, _ = self.case("float32")
        lengths = np.array(self.lengths)
        first = leaves(dist.sample(5, seed=3))
        assert any((a != b).any() for a, b in zip(first, leaves(dist.sample(5, seed=4)), strict=True))
        for xla in (False, True):
            again = tf.function(lambda *s: self.build(*s, lengths=lengths).sample(5, seed=3), jit_compile=xla)(*scores)
            assert all(map(np.array_equal, first, leaves(again)))

    def test_log_prob_entropy_and_kl(self):
        _, dist, rows = self.case()
        _, other, others = self.case(seed=1)
        best = dist.argmax
        for share in (0, 0.3, 1):  # the first, one whose parts differ, the last
            picks = [round(share * (len(row.structures) - 1)) for row in rows]
            picked = [row.structures[pick] for row, pick in zip(rows, picks, strict=True)]
            structure = tf.nest.pack_sequence_as(
                best, [tf.constant(np.stack(c), tf.int32) for c in zip(*picked, strict=True)]
            )
            expected = [np.log(row.probabilities[pick]) for row, pick in zip(rows, picks, strict=True)]
            self.near(dist.log_prob(structure), expected, "float64")
        self.near(dist.entropy, [row.entropy for row in rows], "float64")
        self.near(dist.kl(other), [row.kl(o) for row, o in zip(rows, others, strict=True)], "float64")

    def loss(self, weights, *scores):
        """Return a number that depends on both marginals and log-partition."""
        log_partition, marginals = self.build(*scores, lengths=np.array(self.lengths)).posterior()
        return tf.reduce_sum(weights * marginals) + tf.reduce_sum(tf.sin(log_partition))

    @pytest.mark.parametrize("xla", [False, slow(True)])
    def test_gradient_through_marginals(self, xla):
        """Runs eagerly unless compiled, which is faster than tracing such a small graph."""
        scores = self.draw("float64", 2)
        weights = np.random.default_rng(3).normal(size=self.build(*scores).marginals.shape)
        loss = functools.partial(self.loss, weights)
        assert_slopes(tf.function(loss, jit_compile=True) if xla else loss, scores, directions=2)

    @pytest.mark.slow
    def test_second_derivatives(self):
        scores = self.draw("float64", 2)
        rng = np.random.default_rng(4)
        weights = rng.normal(size=self.build(*scores).marginals.shape)
        sides = [rng.normal(size=s.shape) for s in scores]

        def slope(*tensors):
            with tf.GradientTape() as tape:
                tape.watch(tensors)
                loss = self.loss(weights, *tensors)
            return tf.add_n([tf.reduce_sum(g * s) for g, s in zip(tape.gradient(loss, tensors), sides, strict=True)])

        assert_slopes(slope, scores, tolerance=1e-5)

    @pytest.mark.slow
    def test_everything_compiled_and_with_unknown_shapes(self):
        """Unknown shapes alone are also tested in `test_lengths`, a compiled chain in `test_crf`."""
        scores, *_ = self.case("float32")

        def everything(lengths, *scores):
            dist = self.build(*scores, lengths=lengths)
            found = [dist.log_partition, dist.marginals, dist.entropy, *tf.nest.flatten(dist.argmax)]
            return [*found, *(tf.nest.flatten(dist.top_k(3)) if self.ranks else [])]

        plain = everything(np.array(self.lengths), *scores)
        shapes = [[size if n in self.known else None for n, size in enumerate(s.shape)] for s in scores]
        open_shapes = [tf.TensorSpec([None], tf.int32), *map(tf.TensorSpec, shapes, [s.dtype for s in scores])]
        for function in (
            tf.function(everything, jit_compile=True),
            tf.function(everything, input_signature=open_shapes),
        ):
            for ours, theirs in zip(function(np.array(self.lengths, np.int32), *scores), plain, strict=True):
                np.testing.assert_allclose(ours, theirs, atol=2e-5, rtol=2e-5)

    def differentiated(self, scores):
        """Compute log-partition, marginals and entropy, and check that the gradient of all of them is finite."""
        tensors = [tf.constant(s) for s in scores]
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            dist = self.build(*tensors, lengths=np.array(self.lengths))
            log_partition, marginals = dist.posterior()
            entropy = dist.entropy
            value = tf.reduce_sum(marginals**2) + tf.reduce_sum(log_partition)
            if self.slopes_of_entropy:
                value = value + tf.reduce_sum(entropy)
        assert log_partition.dtype == marginals.dtype == entropy.dtype == tensors[0].dtype
        for gradient in tape.gradient(value, tensors):
            assert np.all(np.isfinite(gradient))
        return dist, log_partition, marginals, entropy

    def test_what_stands_beyond_the_length_has_no_influence(self):
        scores, dist, _ = self.case("float32")
        _, log_partition, marginals, entropy = self.differentiated(self.spoil([np.array(s) for s in scores]))
        clean_log_partition, clean_marginals = dist.posterior()
        np.testing.assert_array_equal(log_partition, clean_log_partition)
        np.testing.assert_array_equal(marginals, clean_marginals)
        np.testing.assert_array_equal(entropy, dist.entropy)

    def test_forbidden_parts(self):
        scores = self.forbid(self.draw("float32", 5))
        dist, log_partition, marginals, entropy = self.differentiated(scores)
        for number, row in enumerate(self.rows(scores)):
            self.near(log_partition[number], row.log_partition, "float32")
            self.near(marginals[number], row.marginals(0), "float32")
            self.near(entropy[number], row.entropy, "float32")
            assert row.find([leaf[number] for leaf in leaves(dist.argmax)]) == row.scores.argmax()

    def test_huge_potentials(self):
        scores = [1e4 * s / np.abs(s).max() for s in self.draw("float32", 6)]
        dist, log_partition, marginals, _ = self.differentiated(scores)
        for number, row in enumerate(self.rows(scores)):
            np.testing.assert_allclose(log_partition[number], row.log_partition, rtol=1e-6)
            self.near(marginals[number], row.marginals(0), "float32", 100)
            assert row.find([leaf[number] for leaf in leaves(dist.argmax)]) == row.scores.argmax()
