"""Properties of all distributions, whatever their structures: rows without structures, and graph modes."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.slow import slow

from seqattn_tf.structured import LinearChain, ProjectiveTree, SemiMarkov, SpanningTree
from seqattn_tf.structured.semirings import padded

ROWS = 3
FAMILIES = {
    "chain": (lambda *scores: LinearChain(*scores, method="scan"), [(ROWS, 4, 3), (ROWS, 3, 3, 3)]),
    "shared chain": (lambda *scores: LinearChain(*scores, method="scan"), [(ROWS, 4, 3), (3, 3)]),
    "prefix chain": (lambda *scores: LinearChain(*scores, method="prefix"), [(ROWS, 4, 2), (2, 2)]),
    "segments": (SemiMarkov, [(ROWS, 4, 2, 2), (2, 2)]),
    "projective": (ProjectiveTree, [(ROWS, 4, 5)]),
    "projective, many roots": (lambda arcs: ProjectiveTree(arcs, single_root=False), [(ROWS, 4, 5)]),
    "spanning": (SpanningTree, [(ROWS, 4, 5)]),
    "spanning, many roots": (lambda arcs: SpanningTree(arcs, single_root=False), [(ROWS, 4, 5)]),
}
KINDS = ("chain", "segments", "projective", "spanning")  # one member of each family, for slow tests


QUICK = [name for name in KINDS if name != "projective"]  # compiles longest, and is covered best by other tests


def quick_for(names, quick):
    return [name if name in quick else slow(name) for name in names]


@pytest.fixture(params=quick_for(FAMILIES, QUICK))
def family(request):
    return FAMILIES[request.param]


def draw(shapes, seed, dtype="float64"):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def divergence(build, *scores, xla=False):
    """Return the divergence from the first to the second half of the scores, and the gradient of its finite part."""

    def both(*scores):
        half = len(scores) // 2
        with tf.GradientTape() as tape:
            tape.watch(scores)
            found = build(*scores[:half]).kl(build(*scores[half:]))
            value = tf.reduce_sum(tf.where(tf.math.is_finite(found), found, tf.zeros_like(found)))
        return found, tape.gradient(value, scores)

    if xla:
        both = tf.function(both, jit_compile=True, autograph=False)
    found, gradients = both(*map(tf.constant, scores))
    assert all(np.isfinite(g).all() for g in gradients)
    return found, [g.numpy() for g in gradients]


@pytest.mark.parametrize("name", quick_for(FAMILIES, KINDS))
@pytest.mark.parametrize("xla", [False, slow(True)])
def test_divergence_where_one_side_has_no_structure(name, xla):
    """In row 0 the other distribution has no structure, in row 1 this one, and in row 2 both have some."""
    build, shapes = FAMILIES[name]
    ours, theirs = draw(shapes, 0), draw(shapes, 1)
    expected = build(*ours).kl(build(*theirs))[2]
    theirs[0][0, 0] = ours[0][1, 0] = -np.inf
    found, gradients = divergence(build, *ours, *theirs, xla=xla)
    np.testing.assert_allclose(found, [np.inf, 0, expected], rtol=1e-10)
    for gradient in (gradients[0], gradients[len(shapes)]):
        assert not gradient[:2].any()
        assert gradient[2].any()


def test_divergence_where_the_other_forbids_a_part(family):
    build, shapes = family
    ours, theirs = draw(shapes, 0), draw(shapes, 1)
    expected = build(*ours).kl(build(*theirs))
    theirs[0][0, 0, -1] = -np.inf
    ours[0][1, 0, -1] = theirs[0][1, 0, -1] = -np.inf
    found, _ = divergence(build, *ours, *theirs)
    assert np.isposinf(found[0])
    assert np.isfinite(found[1])
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-10)
    ours = build(*ours)
    np.testing.assert_allclose(ours.kl(ours), np.zeros(ROWS), atol=1e-12)


def slope(result):
    """Return a function for the gradient of the sum of a result with respect to the scores."""

    def function(build, *scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            value = tf.reduce_sum(tf.sin(result(build(*scores))))
        return tape.gradient(value, scores)

    return function


def divergence_and_sample(build, *scores):
    dist, other = build(*scores), build(*(s / 2 for s in scores))
    return dist.kl(other), dist.log_prob(dist.argmax), dist.sample(2, seed=5)


RESULTS = {
    "marginals": lambda build, *scores: build(*scores).marginals,
    "best": lambda build, *scores: build(*scores).argmax if build is SpanningTree else build(*scores).top_k(3),
    "others": divergence_and_sample,
    "slope of the marginals": slope(lambda dist: dist.marginals),
    "slope of the entropy": slope(lambda dist: dist.entropy),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("result", quick_for(RESULTS, ["marginals"]))
@pytest.mark.slow
def test_vectorized_map_is_one_by_one(name, result):
    """Three batches at once, because a single one could hide values that are swapped between batches."""
    build, shapes = FAMILIES[name]
    batches = tuple(map(tf.constant, draw([(3, *shape) for shape in shapes], 2)))

    @tf.function(autograph=False)
    def alone(batch):
        return tf.nest.flatten(RESULTS[result](build, *batch))

    together = tf.function(lambda: tf.vectorized_map(alone.python_function, batches), autograph=False)()
    for number in range(3):
        for ours, theirs in zip(together, alone(tuple(batch[number] for batch in batches)), strict=True):
            np.testing.assert_allclose(ours[number], theirs, atol=1e-12)


def test_padding_with_any_number_wherever_it_is_done():
    values = tf.reshape(tf.range(12.0), [2, 2, 3])
    paddings = [[1, tf.constant(0)], [0, 2]]
    expected = np.stack([np.pad(v, [(1, 0), (0, 2)], constant_values=-np.inf) for v in values.numpy()])
    for run in (tf.map_fn, tf.vectorized_map):
        np.testing.assert_array_equal(run(lambda v: padded(v, paddings, -float("inf")), values), expected)


def test_scores_of_a_functional_model():
    """They have no values; the advice in the error message must work."""
    scores, pairwise = keras.Input((4, 3)), tf.constant(draw([(3, 3)], 0, "float32")[0])
    for ask in (
        lambda: LinearChain(scores, pairwise),
        lambda: SemiMarkov(keras.Input((4, 2, 3)), pairwise),
        lambda: ProjectiveTree(keras.Input((4, 5))),
        lambda: SpanningTree(keras.Input((4, 5))),
    ):
        with pytest.raises(
            ValueError, match=r": expected numbers.* inside a layer: `keras\.layers\.Lambda\(.*Received: "
        ):
            ask()

    class Marginals(keras.layers.Layer):
        def call(self, scores):
            return LinearChain(scores, pairwise).marginals

    advised = keras.layers.Lambda(lambda scores: LinearChain(scores, pairwise).marginals)(scores)
    model = keras.Model(scores, [advised, Marginals()(scores)])
    [numbers] = draw([(2, 4, 3)], 1, "float32")
    for found in model(numbers):
        np.testing.assert_allclose(found, LinearChain(numbers, pairwise).marginals, atol=1e-6)
