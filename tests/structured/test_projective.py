"""Projective trees compared with all of them."""

import numpy as np
import pytest
import tensorflow as tf
from support.structures import ExactTests, Row, all_trees

from seqattn_tf.structured.projective import ProjectiveTree

WORDS = 5


class TreeTests(ExactTests):
    """Tests of trees; subclasses set `single_root`."""

    lengths = (WORDS, 3, 1, 0)
    slopes_of_entropy = False

    def draw(self, dtype, seed):
        return [np.random.default_rng(seed).normal(size=(len(self.lengths), WORDS, WORDS + 1)).astype(dtype)]

    def build(self, arcs, lengths=None):
        return ProjectiveTree(arcs, lengths, single_root=self.single_root)

    def enumerate_row(self, length, scores, row):
        structures, parts = [], []
        for heads in all_trees(length, self.single_root, projective=True):
            arcs = np.zeros((WORDS, WORDS + 1))
            arcs[np.arange(length), list(heads)] = 1
            structures.append([np.pad(np.array(heads, int), (0, WORDS - length))])
            parts.append([arcs])
        return Row(structures, parts, [scores[0][row]])

    def spoil(self, scores):
        for row, length in enumerate(self.lengths):
            scores[0][row, length:] = scores[0][row, :, length + 1 :] = np.nan
        scores[0][:, np.arange(WORDS), np.arange(WORDS) + 1] = np.nan
        return scores

    def forbid(self, scores):
        scores[0][0, 1, 3] = scores[0][0, 0, 0] = scores[0][0, 3, 2] = scores[0][1, 0, 2] = -np.inf
        return scores


class TestSingleRoot(TreeTests):
    single_root = True


class TestMultiRoot(TreeTests):
    single_root = False
    # Compilation, second derivatives and extreme scores are tested above; only the arcs of the root differ.
    test_everything_compiled_and_with_unknown_shapes = test_samples_are_reproducible_eager_and_compiled = None
    test_second_derivatives = test_what_stands_beyond_the_length_has_no_influence = test_huge_potentials = None

    def test_gradient_through_marginals(self):
        super().test_gradient_through_marginals(xla=False)


@pytest.mark.parametrize(("single_root", "count"), [(True, 30), (False, 55)])
def test_trees_of_four_words(single_root, count):
    tree = ProjectiveTree(tf.zeros([1, 4, 5], tf.float64), single_root=single_root)
    np.testing.assert_allclose(tf.exp(tree.log_partition), [count])
    np.testing.assert_allclose(tree.entropy, [np.log(count)])
