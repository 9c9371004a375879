"""Trees and projective trees among all head sequences, by enumeration."""

import itertools

import numpy as np
import pytest

from seqattn_tf.lite.targets import Tree
from seqattn_tf.lite.targets.base import load_target, save_target
from seqattn_tf.lite.targets.tree import check_tree, is_projective


def is_tree(heads):
    """Return whether exactly one word depends on the root, and every word is connected to it."""
    for word in range(1, len(heads) + 1):
        above = set()
        while word and word not in above:
            above.add(word)
            word = heads[word - 1]
        if word:
            return False
    return heads.count(0) == 1


def spans_are_whole(heads):
    """Return whether the descendants of every word are contiguous."""
    for word in range(1, len(heads) + 1):
        below = {word}
        for _ in heads:
            below |= {one for one, head in enumerate(heads, 1) if head in below}
        if max(below) - min(below) + 1 != len(below):
            return False
    return True


@pytest.mark.parametrize(("words", "trees", "projective"), [(1, 1, 1), (2, 2, 2), (3, 9, 7), (4, 64, 30)])
def test_trees_and_projective_ones_are_those_of_the_definitions(words, trees, projective):
    """There are n^(n-1) trees with n words."""
    found = crossing_free = 0
    for heads in itertools.product(range(words + 1), repeat=words):
        if is_tree(heads):
            check_tree(np.array(heads))
            found += 1
            assert is_projective(np.array(heads)) == spans_are_whole(heads), heads
            crossing_free += spans_are_whole(heads)
        else:
            with pytest.raises(ValueError, match=r"^expected a tree with one root\. Received: heads \[") as error:
                check_tree(np.array(heads))
            assert str(error.value).endswith(f"heads {list(heads)}")
    assert (found, crossing_free) == (trees, projective)


def test_long_chains_and_long_cycles():
    chain = np.arange(300)
    check_tree(chain)
    check_tree(np.append(chain[2:], [300, 0]))
    assert is_projective(chain)
    cycle = chain.copy()
    cycle[1] = 300
    with pytest.raises(ValueError, match="expected a tree with one root"):
        check_tree(cycle)


def test_nothing_is_a_tree():
    nothing = np.zeros(0, np.int32)
    check_tree(nothing)
    assert is_projective(nothing)


@pytest.mark.parametrize("projective", [True, False])
def test_a_stored_target_finds_the_same_kind_of_trees(projective):
    assert load_target(save_target(Tree(("dep",), projective))).projective == projective
