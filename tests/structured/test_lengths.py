import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.structured import LinearChain
from seqattn_tf.structured.base import as_lengths

SCORES = tf.zeros([3, 4, 2])


def test_lengths_are_kept_between_nothing_and_all_there_is():
    assert as_lengths([-2, 2, 9], SCORES, 4).numpy().tolist() == [0, 2, 4]
    assert as_lengths(None, SCORES, 4).numpy().tolist() == [4, 4, 4]
    assert as_lengths(np.array([1, 2, 3], "int64"), SCORES, 4).dtype == tf.int32


def test_a_chain_of_too_many_is_the_whole_chain_and_one_of_fewer_than_none_is_empty():
    unary = tf.constant(np.random.default_rng(0).normal(size=(2, 4, 3)).astype("float32"))
    pairwise = tf.zeros([3, 3])
    strange = LinearChain(unary, pairwise, lengths=[99, -1]).log_partition
    np.testing.assert_allclose(strange, LinearChain(unary, pairwise, lengths=[4, 0]).log_partition)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([1.0, 2.0, 3.0], "lengths: expected integers"),
        ([[1], [2], [3]], "lengths: expected integers"),
        ([1, 2], "lengths: expected one for each row of scores"),
    ],
)
def test_other_lengths_are_refused(lengths, message):
    with pytest.raises(ValueError, match=message):
        as_lengths(lengths, SCORES, 4)
