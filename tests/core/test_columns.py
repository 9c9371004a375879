"""Columns: rows of a batch, padded to the longest one."""

import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.core.columns import Column, ColumnGroup, DenseColumn, LazyColumn, RaggedColumn

LENGTHS = [2, 0, 3, 1]
STARTS = np.cumsum([0, *LENGTHS])


def by_hand(values, indices, padding, end=None):
    rows = [list(values[STARTS[i] : STARTS[i + 1]]) + ([end] if end is not None else []) for i in indices]
    longest = max(map(len, rows))
    nothing = np.full(values.shape[1:], padding, values.dtype)
    return np.array([row + [nothing] * (longest - len(row)) for row in rows], values.dtype)


@pytest.mark.parametrize("indices", [[2, 0, 3, 1], [3, 3], [1, 3], [2]])
@pytest.mark.parametrize("padding", [0, -1])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_rows_are_padded_to_the_longest_of_the_batch(shape, padding, indices):
    values = np.arange(1, 1 + 6 * int(np.prod(shape)), dtype=np.int32).reshape(6, *shape)
    column = RaggedColumn("ids", values, STARTS, padding=padding)
    assert column.lengths.tolist() == LENGTHS
    found = tf.function(column.rows)(tf.constant(indices))
    assert list(found) == ["ids"]
    assert found["ids"].dtype == tf.int32
    np.testing.assert_array_equal(found["ids"], by_hand(values, indices, padding))
    if not shape:
        ended = RaggedColumn("ids", values, STARTS, end=9, padding=padding).rows(tf.constant(indices))["ids"]
        np.testing.assert_array_equal(ended, by_hand(values, indices, padding, end=9))


def test_a_batch_of_nothing_has_no_places():
    flat, deep = np.zeros(0, np.int32), np.zeros([0, 5], np.float32)
    starts = np.zeros(3, np.int64)
    assert RaggedColumn("a", flat, starts).rows(tf.constant([0, 1]))["a"].shape == (2, 0)
    assert RaggedColumn("a", deep, starts).rows(tf.constant([0, 1]))["a"].shape == (2, 0, 5)
    assert RaggedColumn("a", flat, starts, end=2).rows(tf.constant([1]))["a"].numpy().tolist() == [[2]]


def test_arrays_have_no_end():
    with pytest.raises(ValueError, match=r"end: expected None for values with several axes\. Received: 2"):
        RaggedColumn("a", np.zeros([6, 2]), STARTS, end=2)


def test_several_columns_are_as_long_as_the_first():
    ids = RaggedColumn("ids", np.arange(6), STARTS)
    letters = RaggedColumn("letters", np.arange(12).reshape(6, 2), STARTS)
    raw = LazyColumn([b"a", "bc", b"", b"d"], lambda texts: {"size": tf.strings.length(texts)})
    together = ColumnGroup([ids, DenseColumn({"label": np.array([3, 1, 2, 0])}), letters, raw])
    assert isinstance(together, Column)
    assert together.lengths.tolist() == LENGTHS
    assert ColumnGroup([DenseColumn({"label": np.zeros(4)}), ids]).lengths.tolist() == [0] * 4
    found = tf.function(together.rows)(tf.constant([3, 0]))
    assert {name: tensor.numpy().tolist() for name, tensor in found.items()} == {
        "ids": [[5, 0], [0, 1]],
        "label": [0, 3],
        "letters": [[[10, 11], [0, 0]], [[0, 1], [2, 3]]],
        "size": [1, 1],
    }


@pytest.mark.parametrize("multiple", [1, 2, 3, 4, 8])
def test_rows_are_padded_on_to_a_multiple(multiple):
    ids = RaggedColumn("ids", np.arange(1, 7), STARTS, padding=-1)
    tokens = RaggedColumn("tokens", np.arange(1, 7), STARTS, end=9)
    raw = LazyColumn([b"a", "bc", b"", b"d"], lambda texts: {"size": tf.strings.length(texts)})
    together = ColumnGroup([ids, DenseColumn({"label": np.array([3, 1, 2, 0])}), ColumnGroup([tokens]), raw])
    together.round_up(multiple)
    found = tf.function(together.rows)(tf.constant([2, 3]))
    for name, needed, padding in (("ids", [[3, 4, 5], [6]], -1), ("tokens", [[3, 4, 5, 9], [6, 9]], 0)):
        longest = -(-len(needed[0]) // multiple) * multiple
        assert found[name].numpy().tolist() == [row + [padding] * (longest - len(row)) for row in needed]
    assert found["label"].numpy().tolist() == [2, 0]
    assert found["size"].numpy().tolist() == [0, 1]
    assert together.rows(tf.constant([1]))["ids"].shape == (1, 0)


def test_one_column_follows_another():
    """The padding after the first column must not shift the rows of the second one."""
    first = RaggedColumn("ids", np.array([5, 6, 7]), np.array([0, 1, 3]), end=2)
    joined = first.followed_by(RaggedColumn("ids", np.array([8, 9]), np.array([0, 0, 2]), end=2))
    assert joined.lengths.tolist() == [1, 2, 0, 2]
    assert joined.rows(tf.range(4))["ids"].numpy().tolist() == [[5, 2, 0], [6, 7, 2], [2, 0, 0], [8, 9, 2]]
