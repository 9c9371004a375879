import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.structured import LinearChain, ProjectiveTree, SemiMarkov, SpanningTree
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


PAIRS = tf.zeros([2, 2])
EMPTY = {
    "chain": (lambda scores, lengths: LinearChain(scores, PAIRS, lengths), [3, 0, 2]),
    "chain of its own pairs": (lambda scores, lengths: LinearChain(scores, tf.zeros([3, 0, 2, 2]), lengths), [3, 0, 2]),
    "segments": (lambda scores, lengths: SemiMarkov(scores, PAIRS, lengths), [3, 0, 4, 2]),
    "projective": (ProjectiveTree, [3, 0, 1]),
    "spanning": (SpanningTree, [3, 0, 1]),
}


@pytest.mark.parametrize("name", EMPTY)
def test_scores_without_positions_have_the_empty_structure_alone(name):
    """Here there are no positions at all, rather than rows of length 0 beside longer ones."""
    build, shape = EMPTY[name]
    scores = tf.zeros(shape)
    with tf.GradientTape() as tape:
        tape.watch(scores)
        found = build(scores, None)
        log_partition = found.log_partition
    assert tape.gradient(log_partition, scores).shape == found.marginals.shape == shape
    best = found.argmax
    for number in (log_partition, found.entropy, found.log_prob(best), found.kl(found)):
        np.testing.assert_array_equal(number, np.zeros(3))
    assert all(one.shape == (3, 0) for one in tf.nest.flatten(best))
    assert all(one.shape == (5, 3, 0) for one in tf.nest.flatten(found.sample(5, seed=1)))
    if name != "spanning":
        structures, ranked = found.top_k(2)
        np.testing.assert_array_equal(ranked, [[0, -np.inf]] * 3)
        assert all(one.shape == (3, 2, 0) for one in tf.nest.flatten(structures))


@pytest.mark.parametrize("asked", ["posterior", "argmax"])
@pytest.mark.parametrize("name", [*EMPTY][1:])
def test_scores_that_turn_out_to_have_no_positions(name, asked):
    """Here this is known only when the graph runs, as in a served model with a batch of empty rows.

    For rows with positions, the same graph returns the same results as eager execution.
    """
    build, shape = EMPTY[name]
    free = [None, None, *([None] if "chain" not in name and name != "segments" else shape[2:])]

    @tf.function(input_signature=[tf.TensorSpec(free)], autograph=False)
    def results(scores):
        found = build(scores, None)
        return found.posterior() if asked == "posterior" else tf.nest.flatten(found.argmax)

    positions = 3
    if name != "chain of its own pairs":  # has no pairs
        full = [3, positions, *(shape[2:] if name == "segments" else [positions + 1])]
        scores = tf.constant(np.random.default_rng(0).normal(size=full).astype("float32"))
        for ours, theirs in zip(results(scores), results.python_function(scores), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-5)
    found = results(tf.zeros(shape))
    if asked == "posterior":
        np.testing.assert_array_equal(found[0], np.zeros(3))
        assert found[1].shape == shape
    else:
        assert all(one.shape == (3, 0) for one in found)


@pytest.mark.parametrize("name", ["chain", "segments", "projective", "spanning"])
def test_the_divergence_of_rows_of_other_lengths(name):
    """Rows with different positions share no structure: an error if this is known, otherwise infinite."""
    build, shape = EMPTY[name]
    shape = [3, 4, *shape[2:]] if name in ("chain", "segments") else [3, 4, 5]
    scores, others = (tf.constant(np.random.default_rng(seed).normal(size=shape).astype("float32")) for seed in (0, 1))
    with pytest.raises(ValueError, match=r"kl: expected the lengths \[4, 2, 3\]. Received: \[4, 3, 3\]"):
        build(scores, [4, 2, 3]).kl(build(others, [4, 3, 3]))
    if name != "chain":  # the rest is the same for all structures
        return

    @tf.function(input_signature=[tf.TensorSpec([3], tf.int32)] * 2, autograph=False)
    def kl(ours, theirs):
        return build(scores, ours).kl(build(others, theirs))

    same, found = kl([4, 2, 3], [4, 2, 3]).numpy(), kl([4, 2, 3], [4, 3, 3]).numpy()
    assert found[1] == np.inf
    assert (same > 0).all()
    np.testing.assert_allclose(found[::2], same[::2])


@pytest.mark.parametrize("trees", [ProjectiveTree, SpanningTree])
def test_the_divergence_of_trees_with_one_root_from_those_with_many(trees):
    scores = tf.zeros([1, 2, 3])
    with pytest.raises(ValueError, match=r"kl: expected trees with single_root=True\. Received: False"):
        trees(scores).kl(trees(scores, single_root=False))
