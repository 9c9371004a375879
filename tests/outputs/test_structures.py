"""Structured targets: in the graph, in NumPy, and by enumeration of all structures."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.lite.targets import ChainTags, Tree
from seqattn_tf.lite.targets.tree import check_tree, is_projective
from seqattn_tf.outputs import graph_target

LENGTHS = [4, 0, 1, 3]
TAGS = ChainTags(("D", "N", "V"))
TREES = {projective: Tree(("a", "b"), projective) for projective in (True, False)}


def chain(rng, forbid=False):
    pairwise = rng.normal(size=[4, 3, 3]).astype("f4")
    if forbid:
        pairwise[:, 0, 1] = -np.inf
    return {"unary": rng.normal(size=[4, 4, 3]).astype("f4"), "pairwise": pairwise, "lengths": np.array(LENGTHS, "i4")}


def arcs(rng):
    relations = rng.normal(size=[4, 4, 5, 2]).astype("f4")
    relations -= np.log(np.exp(relations).sum(axis=-1, keepdims=True))
    return {
        "arcs": rng.normal(size=[4, 4, 5]).astype("f4"),
        "relations": relations.astype("f4"),
        "lengths": np.array(LENGTHS, "i4"),
    }


SEED_OF_TWO_TREES = 1  # with this seed, the most probable tree is not the one with the most expected correct arcs


def tensors(outputs):
    return {name: tf.constant(value) for name, value in outputs.items()}


def all_sequences(outputs, row):
    length = LENGTHS[row]
    for tags in itertools.product(range(3), repeat=length):
        score = sum(outputs["unary"][row, i, tag] for i, tag in enumerate(tags))
        yield tags, score + sum(outputs["pairwise"][row, i, j] for i, j in itertools.pairwise(tags))


def all_trees(outputs, row, projective):
    """Yield every tree with every choice of relations, and its score."""
    words = range(LENGTHS[row])
    for heads in itertools.product(range(LENGTHS[row] + 1), repeat=LENGTHS[row]):
        try:
            check_tree(np.array(heads, "i4"))
        except ValueError:
            continue
        if projective and not is_projective(np.array(heads)):
            continue
        bare = sum(outputs["arcs"][row, d, heads[d]] for d in words)
        for relations in itertools.product(range(2), repeat=LENGTHS[row]):
            more = sum(outputs["relations"][row, d, heads[d], relations[d]] for d in words)
            yield (heads, relations), bare + more


def log_total(scored):
    scores = np.array([score for _, score in scored], float)
    return np.log(np.exp(scores).sum())


@pytest.mark.parametrize("answers", [1, 3, 5])
def test_the_best_sequences_of_tags_are_the_best_of_all(answers):
    outputs = chain(np.random.default_rng(answers), forbid=answers == 3)
    decided = graph_target(TAGS).decode_structure(tensors(outputs), answers, "it")
    found = {name: value.numpy() for name, value in decided.items()}
    for row, length in enumerate(LENGTHS):
        ranked = sorted(all_sequences(outputs, row), key=lambda scored: -scored[1])
        possible = [scored for scored in ranked if scored[1] > -np.inf]
        total = log_total(possible)
        for place in range(answers):
            if not length or place >= len(possible):
                assert found["scores"][row, place] == -np.inf
                continue
            tags, score = possible[place]
            assert found["tags"][row, place, :length].tolist() == [tag + 1 for tag in tags]
            assert not found["tags"][row, place, length:].any()
            np.testing.assert_allclose(found["scores"][row, place], score - total, atol=1e-4)
        expected = np.zeros([3, 4])
        for tags, score in possible:
            expected[list(tags), range(length)] += np.exp(score - total)
        np.testing.assert_allclose(found["it_attention"][row], expected, atol=1e-5)


@pytest.mark.parametrize("projective", [True, False])
def test_the_tree_has_the_most_arcs_expected_to_be_right(projective):
    """By enumeration, including relations, with potentials for which the most probable tree is another one."""
    outputs = arcs(np.random.default_rng(SEED_OF_TWO_TREES))
    found = graph_target(TREES[projective]).decode_structure(tensors(outputs), 1, "it")
    others = 0
    for row, length in enumerate(LENGTHS):
        if not length:
            assert found["scores"][row, 0] == -np.inf
            continue
        scored, words = list(all_trees(outputs, row, projective)), range(length)
        right = np.zeros([4, 5, 2])  # the probability of each arc with each relation
        for (heads, relations), score in scored:
            right[words, heads, relations] += np.exp(score - log_total(scored))
        expected = right.sum(axis=2)
        heads, relations = max((tree for tree, _ in scored), key=lambda tree: right[(words, *tree)].sum())
        others += heads != max(scored, key=lambda one: one[1])[0][0]
        assert found["heads"][row, 0, :length].numpy().tolist() == list(heads)
        assert found["relations"][row, 0, :length].numpy().tolist() == list(relations)
        score = dict(scored)[heads, relations] - log_total(scored)
        np.testing.assert_allclose(found["scores"][row, 0], score, atol=1e-4)
        np.testing.assert_allclose(found["it_attention"][row], expected[:, 1:], atol=1e-4)
    assert others


@pytest.mark.parametrize("target", [TAGS, *TREES.values()], ids=["chain", "projective", "spanning"])
def test_a_host_decides_what_the_graph_decides(target):
    rng = np.random.default_rng(3)
    outputs, graph = chain(rng, forbid=True) if target is TAGS else arcs(rng), graph_target(target)
    found = graph.decode_structure(tensors(outputs), 3, "it")
    potentials = graph.potentials(tensors(outputs))
    for row, length in enumerate(LENGTHS):
        given = {name: value[row].numpy() for name, value in potentials.items()}
        alone = target.decode_row(given, 3, "it")
        expected = {name: value[row].numpy() for name, value in found.items()}
        said, right = target.format_row(alone), target.format_row(expected)
        assert said["text"] == right["text"]
        assert [text for text, _ in said["alternatives"]] == [text for text, _ in right["alternatives"]]
        np.testing.assert_allclose(said["score"], right["score"], atol=1e-4)
        looked = expected["it_attention"]
        looked = looked[:, :length] if target is TAGS else looked[:length, :length]
        np.testing.assert_allclose(alone["it_attention"], looked, atol=1e-5)


def test_the_loss_of_tags_is_their_probability_by_place():
    outputs = chain(np.random.default_rng(0))
    right = np.array([[1, 2, 3, 1], [0, 0, 0, 0], [2, 0, 0, 0], [3, 3, 1, 0]], "i4")
    expected = 0.0
    for row, length in enumerate(LENGTHS):
        scored = dict(all_sequences(outputs, row))
        expected -= scored[tuple(right[row, :length] - 1)] - log_total(scored.items()) if length else 0
    loss = graph_target(TAGS).loss()
    np.testing.assert_allclose(loss(right, tensors(outputs)), expected / 8, rtol=1e-5)
    assert float(loss(right[1:2], tensors({name: value[1:2] for name, value in outputs.items()}))) == 0  # an empty row
    with pytest.raises(ValueError, match="label_smoothing: expected 0 for tags of a chain"):
        graph_target(TAGS).loss(0.1)


@pytest.mark.parametrize("projective", [True, False])
def test_the_loss_of_trees_is_their_probability_by_word(projective):
    outputs = arcs(np.random.default_rng(1))
    trees = [((2, 0, 2, 3), (0, 1, 1, 0)), ((), ()), ((0,), (1,)), ((2, 3, 0), (0, 0, 1))]
    right = np.full([4, 4, 2], -1, "i4")
    expected = 0.0
    for row, (heads, relations) in enumerate(trees):
        right[row, : len(heads)] = np.array([heads, relations], "i4").T
        scored = dict(all_trees(outputs, row, projective))
        expected -= scored[heads, relations] - log_total(scored.items()) if heads else 0
    loss = graph_target(TREES[projective]).loss()
    np.testing.assert_allclose(loss(right, tensors(outputs)), expected / 8, rtol=1e-4)
    with pytest.raises(ValueError, match="label_smoothing: expected 0 for trees"):
        graph_target(TREES[projective]).loss(0.1)


def test_nothing_at_all_is_decided_about_nothing():
    empty = {"unary": tf.zeros([2, 0, 3]), "pairwise": tf.zeros([2, 3, 3]), "lengths": tf.zeros([2], tf.int32)}
    found = graph_target(TAGS).decode_structure(empty)
    assert (found["tags"].shape, found["text_attention"].shape) == ((2, 1, 0), (2, 3, 0))
    empty = {"arcs": tf.zeros([2, 0, 1]), "relations": tf.zeros([2, 0, 1, 2]), "lengths": tf.zeros([2], tf.int32)}
    found = graph_target(TREES[True]).decode_structure(empty)
    assert (found["heads"].shape, found["text_attention"].shape) == ((2, 1, 0), (2, 0, 0))
