import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.structured import SemiMarkov
from seqattn_tf.structured.charted import Charted

SPANS = tf.constant(np.random.default_rng(0).normal(size=(2, 3, 2, 2)).astype("float32"))


@pytest.fixture(scope="module")
def segments():
    return SemiMarkov(SPANS, tf.zeros([2, 2]), lengths=[3, 2])


def test_the_best_is_the_first_of_the_k_best_and_their_scores_are_their_own(segments):
    assert isinstance(segments, Charted)
    ranked = segments.top_k(4)
    for best, first in zip(segments.argmax, ranked.structures, strict=True):
        np.testing.assert_array_equal(best, first[:, 0])
    assert (np.diff(ranked.scores.numpy(), axis=1) <= 0).all()
    for place in range(4):
        one = type(ranked.structures)(*(part[:, place] for part in ranked.structures))
        np.testing.assert_allclose(segments.score(one), ranked.scores[:, place], rtol=1e-5)


def test_one_seed_draws_the_same_and_each_row_its_own(segments):
    drawn, again, other = segments.sample(50, 3), segments.sample(50, 3), segments.sample(50, 4)
    assert drawn.widths.shape == (50, 2, 3)
    np.testing.assert_array_equal(drawn.widths, again.widths)
    assert (drawn.widths.numpy() != other.widths.numpy()).any()
    np.testing.assert_array_equal(drawn.widths.numpy().sum(axis=2), [[3, 2]] * 50)


def test_fewer_than_one_are_refused(segments):
    with pytest.raises(ValueError, match="k: expected"):
        segments.top_k(0)
