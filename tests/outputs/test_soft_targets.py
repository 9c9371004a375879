"""Correct answers and the predictions of a teacher, in one batch and one loss."""

import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.core.columns import DenseColumn, RaggedColumn
from seqattn_tf.lite.targets import Label, Symbols
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.outputs import graph_target
from seqattn_tf.outputs.loss import MaskedCrossEntropy, SoftCrossEntropy
from seqattn_tf.outputs.soft_targets import GraphSoftTargets, Taught

LETTERS = Symbols(SymbolRules(("a", "b", "c")))  # ids 3, 4, 5; the end is 2
SMOOTHING = 0.2


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def test_loss_is_the_cross_entropy_of_what_is_wanted():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 2, 5)).astype("float32")
    numbers = np.array([[[1, 4], [3, 0]], [[2, 2], [0, 0]]])
    shares = np.array([[[0.6, 0.3], [0.5, 0.1]], [[0.7, 0.2], [0.0, 0.0]]])
    total = 0.0
    for row, place in ((0, 0), (0, 1), (1, 0)):
        wanted = np.full(5, (1 - shares[row, place].sum()) / 5)
        for number, share in zip(numbers[row, place], shares[row, place], strict=True):
            wanted[number] += share
        total -= float((wanted * log_softmax(logits[row, place].astype("float64"))).sum())
    found = SoftCrossEntropy()(np.concatenate([numbers, shares], axis=-1).astype("float32"), logits)
    assert float(found) == pytest.approx(total / 3, rel=1e-6)


@pytest.fixture
def both():
    """The correct answers `ab` and `c`, followed by a teacher's `bca` with two probabilities per symbol."""
    says = GraphSoftTargets(graph_target(LETTERS), SMOOTHING)
    answers = RaggedColumn("tokens", np.array([4, 5, 3], np.int32), np.array([0, 3]), end=2)
    numbers = np.array([[4, 3], [5, 3], [3, 5], [2, 4]])
    shares = np.array([[0.9, 0.05], [0.6, 0.3], [0.7, 0.1], [0.8, 0.1]], "float16")
    taught = Taught(answers, numbers, shares, np.array([0, 4]))
    return says, says.joined(graph_target(LETTERS).column(["ab", "c"]), taught)


def test_a_right_answer_is_wanted_as_smoothed_as_ever(both):
    says, column = both
    rows = column.rows(tf.constant([0, 1]))
    logits = tf.random.stateless_normal([2, 3, 6], [1, 2])
    plain = MaskedCrossEntropy(SMOOTHING)(rows["tokens"], logits)
    np.testing.assert_allclose(says.loss(SMOOTHING)(says.y_true(rows), logits), plain, rtol=1e-6)


def test_what_a_teacher_says_is_wanted_as_it_is_said(both):
    says, column = both
    rows = column.rows(tf.constant([2, 1]))
    assert rows["tokens"].numpy().tolist() == [[4, 5, 3, 2], [5, 2, 0, 0]]
    assert says.teacher_inputs(rows)["shifted"].numpy().tolist() == [[1, 4, 5, 3], [1, 5, 2, 0]]
    numbers, shares = np.split(says.y_true(rows).numpy(), 2, axis=-1)
    assert numbers[0].tolist() == [[4, 3], [5, 3], [3, 5], [2, 4]]
    np.testing.assert_allclose(shares[0], [[0.9, 0.05], [0.6, 0.3], [0.7, 0.1], [0.8, 0.1]], atol=1e-3)
    assert numbers[1].tolist() == [[5, 0], [2, 0], [0, 0], [0, 0]]
    np.testing.assert_allclose(shares[1], [[0.8, 0], [0.8, 0], [0, 0], [0, 0]])


def test_a_shorter_lesson_beside_a_longer_right_answer_counts_no_padding(both):
    says, column = both
    answers = RaggedColumn("tokens", np.array([4], np.int32), np.array([0, 1]), end=2)
    taught = Taught(answers, np.array([[4], [2]]), np.array([[0.5], [0.5]], "float16"), np.array([0, 2]))
    column = says.joined(graph_target(LETTERS).column(["abc"]), taught)
    wanted = says.y_true(column.rows(tf.constant([0, 1])))
    assert wanted.shape.as_list() == [2, 4, 2]
    assert wanted[1, :, 1].numpy().tolist() == [0.5, 0.5, 0.0, 0.0]
    column.round_up(6)
    assert says.y_true(column.rows(tf.constant([1]))).shape.as_list() == [1, 6, 2]


def test_labels():
    label = Label(("no", "yes", "maybe"))
    says = GraphSoftTargets(graph_target(label), SMOOTHING)
    taught = Taught(
        DenseColumn({"labels": np.array([2], np.int32)}), np.array([[2, 0]]), np.array([[0.7, 0.2]]), np.array([0, 1])
    )
    column = says.joined(graph_target(label).column(["yes", "no"]), taught)
    wanted = says.y_true(column.rows(tf.constant([2, 0, 1]))).numpy()
    np.testing.assert_allclose(wanted, [[2, 0, 0.7, 0.2], [1, 0, 0.8, 0], [0, 0, 0.8, 0]], rtol=1e-6)
    logits = tf.constant([[0.0, 1.0, 2.0]])
    expected = MaskedCrossEntropy(SMOOTHING, padding=-1)(tf.constant([1]), logits)
    np.testing.assert_allclose(says.loss()(wanted[1:2], logits), expected, rtol=1e-6)


def test_columns_that_are_not_in_memory_cannot_be_followed():
    from seqattn_tf.core.columns import LazyColumn

    raw = LazyColumn([b"a"], lambda texts: {"raw": texts})
    with pytest.raises(
        ValueError, match=r"expected an in-memory column, such as texts or labels. Received: LazyColumn"
    ):
        raw.followed_by(raw)
