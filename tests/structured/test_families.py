"""What holds for all distributions alike, whatever their structures: rows without any, and where they may be used."""

import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.structured import LinearChain, ProjectiveTree, SemiMarkov, SpanningTree

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
KINDS = ("chain", "segments", "projective", "spanning")  # one of each, where it takes long


@pytest.fixture(params=FAMILIES)
def family(request):
    return FAMILIES[request.param]


def draw(shapes, seed, dtype="float64"):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def divergence(build, *scores, xla=False):
    """From the first half of the scores to the second, and the gradient of what of it is finite."""

    @tf.function(jit_compile=xla, autograph=False)
    def both(*scores):
        half = len(scores) // 2
        with tf.GradientTape() as tape:
            tape.watch(scores)
            found = build(*scores[:half]).kl(build(*scores[half:]))
            value = tf.reduce_sum(tf.where(tf.math.is_finite(found), found, tf.zeros_like(found)))
        return found, tape.gradient(value, scores)

    found, gradients = both(*map(tf.constant, scores))
    assert all(np.isfinite(g).all() for g in gradients)
    return found, [g.numpy() for g in gradients]


@pytest.mark.parametrize(("name", "xla"), [*((n, False) for n in FAMILIES), *((n, True) for n in KINDS)])
def test_divergence_where_one_side_has_no_structure(name, xla):
    """In the first row the other has none, in the second this one, in the third both have some."""
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
    both = divergence(build, *ours, *ours)[0]
    np.testing.assert_allclose(both, np.zeros(ROWS), atol=1e-12)
