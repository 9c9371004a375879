"""Segmentations compared with all of them."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from support.structures import ExactTests, Row, all_segmentations

from seqattn_tf.structured.segments import Segments, SemiMarkov

TIMES, LONGEST, LABELS = 5, 3, 2


class TestSegments(ExactTests):
    def draw(self, dtype, seed):
        rng = np.random.default_rng(seed)
        return [rng.normal(size=s).astype(dtype) for s in ((4, TIMES, LONGEST, LABELS), (LABELS, LABELS))]

    def build(self, spans, transitions, lengths=None):
        return SemiMarkov(spans, transitions, lengths)

    def enumerate_row(self, length, scores, row):
        spans, transitions = scores
        structures, parts = [], []
        for segments in all_segmentations(length, LONGEST, LABELS):
            used, pairs = np.zeros((TIMES, LONGEST, LABELS)), np.zeros((LABELS, LABELS))
            structure = np.zeros((2, TIMES), int)
            for start, width, label in segments:
                used[start, width - 1, label] = 1
                structure[:, start] = width, label
            for (*_, label), (*_, following) in itertools.pairwise(segments):
                pairs[label, following] += 1
            structures.append(list(structure))
            parts.append([used, pairs])
        return Row(structures, parts, [spans[row], transitions])

    def spoil(self, scores):
        for row, length in enumerate(self.lengths):
            for start, width in itertools.product(range(TIMES), range(LONGEST)):
                if start + width + 1 > length:
                    scores[0][row, start, width] = np.nan
        return scores

    def forbid(self, scores):
        scores[0][0, 0, 1] = scores[0][0, 2, 0, 1] = scores[1][1, 0] = -np.inf
        return scores


def test_a_segment_beyond_the_end_is_impossible():
    segments = SemiMarkov(tf.zeros([2, 3, 2, 1]), tf.zeros([1, 1]), [3, 2])
    widths, labels = tf.constant([[1, 1, 2], [1, 2, 0]]), tf.zeros([2, 3], tf.int64)
    assert segments.score(Segments(widths, labels)).numpy().tolist() == [-np.inf, -np.inf]
    assert segments.score(Segments(tf.constant([[1, 2, 0], [2, 0, 0]]), labels)).numpy().tolist() == [0, 0]


def test_counts():
    segments = SemiMarkov(tf.zeros([2, 6, 6, 1], tf.float64), tf.zeros([1, 1], tf.float64), [6, 3])
    np.testing.assert_allclose(tf.exp(segments.log_partition), [2**5, 2**2])


def test_one_position_at_a_time_is_a_chain():
    from seqattn_tf.structured import LinearChain

    rng = np.random.default_rng(0)
    unary, pairwise = rng.normal(size=(3, 6, 4)), rng.normal(size=(4, 4))
    segments, chain = SemiMarkov(unary[:, :, None], pairwise, [6, 4, 1]), LinearChain(unary, pairwise, [6, 4, 1])
    np.testing.assert_allclose(segments.log_partition, chain.log_partition)
    np.testing.assert_allclose(segments.marginals[:, :, 0], chain.marginals, atol=1e-12)
    np.testing.assert_array_equal(segments.argmax.labels, chain.argmax)


@pytest.mark.parametrize(
    ("spans", "transitions", "message"),
    [
        ([2, 3, 2], [2, 2], "spans: expected 4 axes"),
        ([2, 3, 2, 2], [3, 3], r"transitions: expected \[2, 2\]"),
        ([2, 3, 0, 2], [2, 2], "spans: expected at least one width"),
    ],
)
def test_wrong_shapes(spans, transitions, message):
    with pytest.raises(ValueError, match=message):
        SemiMarkov(tf.zeros(spans), tf.zeros(transitions))
