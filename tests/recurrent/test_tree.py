"""Recursion over trees, compared with a recursion over a single tree."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.cells import assert_arguments_survive, sigmoid
from support.layers import ALL
from support.networks import BATCH, FEATURES, LENGTHS, TIME, UNITS, NetworkTests, near

from seqattn_tf.recurrent import Composition, TreeRecurrent, balanced_tree
from seqattn_tf.recurrent.compositions import BinaryComposition, ChildSumComposition, TensorComposition
from seqattn_tf.recurrent.tree import heights


def child_sum(weights, x, children):
    kernel, bias, recurrent = weights
    total = sum((h for h, _ in children), np.zeros(UNITS))
    drives = x @ kernel + bias
    i, o, g = np.split(drives[: 3 * UNITS] + total @ recurrent[:, : 3 * UNITS], 3)
    c = sigmoid(i) * np.tanh(g)
    for h, memory in children:
        c = c + sigmoid(drives[3 * UNITS :] + h @ recurrent[:, 3 * UNITS :]) * memory
    return sigmoid(o) * np.tanh(c), c


def binary(weights, x, children):
    kernel, bias, recurrent = weights
    zeros = np.zeros(UNITS)
    (left, c_left), (right, c_right) = [one or (zeros, zeros) for one in (*children, None, None)[:2]]
    drives = x @ kernel + bias
    i, o, g, f_left, f_right = np.split(np.concatenate([left, right]) @ recurrent, 5)
    x_i, x_o, x_g, x_f = np.split(drives, 4)
    c = sigmoid(i + x_i) * np.tanh(g + x_g) + sigmoid(f_left + x_f) * c_left + sigmoid(f_right + x_f) * c_right
    return sigmoid(o + x_o) * np.tanh(c), c


def tensor(weights, x, children):
    kernel, bias, recurrent, cube = weights
    drive = x @ kernel + bias
    if any(child is not None for child in children):
        pair = np.concatenate([np.zeros(UNITS) if one is None else one[0] for one in children])
        drive = drive + pair @ recurrent + [pair @ cube[:, unit] @ pair for unit in range(UNITS)]
    return (np.tanh(drive),)


def halves(low, high):
    """Return the balanced tree over the leaves from `low` to `high`, as nested pairs."""
    middle = (low + high) // 2
    return low if high - low == 1 else (halves(low, middle), halves(middle, high))


class TestChildSum(NetworkTests):
    """The balanced tree over the leaves of each row."""

    kind, arguments, not_stored = TreeRecurrent, {"composition": BinaryComposition(7), **ALL}, ("units",)
    name, formula = "child_sum", staticmethod(child_sum)
    mask = np.array([[1, 1, 1, 1, 1], [1, 0, 1, 1, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]], bool)  # with holes

    def make(self, dtype):
        return TreeRecurrent(self.name, units=UNITS, dtype=dtype, **ALL)

    def empty(self, outputs):
        lengths = self.mask.sum(1, keepdims=True)
        return np.concatenate([~self.mask, np.arange(1, TIME) >= lengths], axis=1)

    def by_hand(self, layer, row, found):
        outputs, *root = found
        weights = [w.numpy() for w in layer.trainable_variables]
        kept = np.nonzero(self.mask[row])[0]
        compared = []

        def visit(tree):
            if isinstance(tree, int):
                state = self.formula(weights, self.inputs[row, kept[tree]], ())
                compared.append((outputs[row, kept[tree]], state[0]))
                return state, tree + 1
            (left, middle), (right, end) = visit(tree[0]), visit(tree[1])
            state = self.formula(weights, np.zeros(FEATURES), (left, right))
            compared.append((outputs[row, TIME - 1 + middle], state[0]))  # the node that splits at `middle`
            return state, end

        state = visit(halves(0, len(kept)))[0] if len(kept) else [np.zeros(UNITS)] * len(root)
        return [*compared, *((ours[row], theirs) for ours, theirs in zip(root, state, strict=True))]


class TestBinary(TestChildSum):
    name, formula = "binary", staticmethod(binary)

    def test_compiled_without_its_gradient(self, layer):
        """The slow `test_compiled` includes the gradient."""
        compiled = tf.function(functools.partial(self.run, layer), jit_compile=True, autograph=False)
        arguments = tf.constant(self.inputs), tf.constant(self.mask)
        near(compiled(*arguments), self.run(layer, *arguments))


class TestTensor(TestChildSum):
    name, formula = "tensor", staticmethod(tensor)


NODES = 6
TREES = [  # the children of each node; the nodes may have any order
    [[], [3], [5, 1], [], [], [4, 0]],
    [[1], [2], [3], [4], [5], []],
    [[], [], [], [], [], [0, 1, 2, 3, 4]],
    [[], [2, 0], [], [], [], []],
]
KEPT = np.array([[1] * 6, [1] * 6, [1] * 6, [1, 1, 1, 0, 0, 0]], bool)


def as_children(trees, most):
    table = np.full((len(trees), NODES, most), -1, np.int32)
    for row, tree in enumerate(trees):
        for node, children in enumerate(tree):
            table[row, node, : len(children)] = children[:most]
    return table


class TestGivenTrees(TestChildSum):
    """A tree, a chain, a star, and a tree that is smaller than the others."""

    inputs = np.random.default_rng(0).normal(size=(BATCH, NODES, FEATURES))
    mask = KEPT
    more = {"children": tf.constant(as_children(TREES, 5))}
    roots = [2, 0, 5, 1]
    most = 5

    def run(self, layer, inputs, mask):
        nodes = tf.shape(inputs)[1]
        children = self.more["children"][:, :nodes]
        return layer(inputs, mask=mask, children=tf.where(children < nodes, children, -1))

    def empty(self, outputs):
        return ~self.mask

    def by_hand(self, layer, row, found):
        outputs, *root = found
        weights = [w.numpy() for w in layer.trainable_variables]

        def visit(node):
            children = [visit(child) for child in TREES[row][node][: self.most]]
            children += [None] * (self.most - len(children)) if self.most == 2 and children else []
            return self.formula(weights, self.inputs[row, node], children)

        for node in np.nonzero(self.mask[row])[0]:
            yield outputs[row, node], visit(node)[0]
        for ours, theirs in zip(root, visit(self.roots[row]), strict=True):
            yield ours[row], theirs


class TestGivenBinaryTrees(TestGivenTrees):
    name, formula = "binary", staticmethod(binary)
    more = {"children": tf.constant(as_children(TREES, 2))}
    most = 2


@pytest.mark.slow
class TestGivenTensorTrees(TestGivenBinaryTrees):
    name, formula = "tensor", staticmethod(tensor)


@pytest.mark.parametrize("kind", [ChildSumComposition, BinaryComposition, TensorComposition])
def test_arguments_of_compositions_survive(kind):
    assert_arguments_survive(kind, {"units": 7})
    assert isinstance(Composition.get(kind.name_in_registry, units=3), kind)


def test_balanced_trees_of_every_length():
    mask = np.arange(9) < np.arange(10)[:, None]
    children = balanced_tree(tf.constant(mask)).numpy()
    found = heights(tf.constant(children)).numpy()
    for row, length in enumerate(range(10)):
        assert found[row].max() == (int(np.ceil(np.log2(length))) if length else 0)
        used = np.sort(children[row][children[row] >= 0])
        assert len(used) == max(2 * length - 2, 0)
        assert len(set(used)) == len(used)


def test_lengths_of_rows():
    assert sorted(LENGTHS) == [0, 1, 3, 5]


def test_what_is_no_tree_is_refused():
    layer = TreeRecurrent("child_sum", units=UNITS)
    traced = tf.function(layer)
    inputs = tf.zeros([1, 3, FEATURES])
    for expected, children in {
        "without cycles": [[1], [0], [-1]],
        "at most one parent per node": [[2], [2], [-1]],
        "expected node indices": [[3], [-1], [-1]],
    }.items():
        for run in (layer, traced):
            with pytest.raises(tf.errors.InvalidArgumentError, match=expected):
                run(inputs, children=tf.constant([children]))


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"units: expected a number for the composition 'binary'\. Received: None"):
        TreeRecurrent("binary")
    with pytest.raises(ValueError, match=r"composition: expected one of .*Received: 'ternary'"):
        TreeRecurrent("ternary", units=3)
    with pytest.raises(ValueError, match=r"units: expected a positive integer\. Received: 0"):
        TreeRecurrent("binary", units=0)
    layer = TreeRecurrent("binary", units=3)
    inputs = tf.zeros([2, 4, FEATURES])
    layer(inputs)
    for expected, children in {
        r"children: expected integers \[batch, nodes, max children\]": tf.zeros([2, 4, 2]),
        "children: expected 2 per node": tf.zeros([2, 4, 3], tf.int32),
        "children: expected one row for each node": tf.zeros([2, 5, 2], tf.int32),
    }.items():
        with pytest.raises(ValueError, match=expected):
            layer(inputs, children=children)
    with pytest.raises(ValueError, match=r"inputs: expected \[batch, nodes, features\]"):
        layer(inputs[0])
    with pytest.raises(ValueError, match="mask: expected booleans"):
        layer(inputs, mask=tf.ones([2, 4]))


def test_in_a_model_with_trees_given():
    leaves, children = keras.Input((None, FEATURES)), keras.Input((None, 2), dtype="int32")
    root = TreeRecurrent("binary", units=UNITS)(leaves, children=children)
    model = keras.Model([leaves, children], root)
    data = [TestGivenTrees.inputs.astype("float32"), as_children(TREES, 2)]
    near(model(data), model.predict(data, verbose=0), 1e-6)
