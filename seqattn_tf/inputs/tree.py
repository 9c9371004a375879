"""Texts with their trees, in the graph."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from seqattn_tf.core.columns import Column, ColumnGroup, RaggedColumn
from seqattn_tf.core.masking import length_mask, row_lengths
from seqattn_tf.inputs.base import FieldTensors, Tensors
from seqattn_tf.inputs.text import GraphText, at_most
from seqattn_tf.lite.fields.tree import EXPECTED, INNER, NONE, TREE, TreeText
from seqattn_tf.text.symbols import normalise, split


class Shape(NamedTuple):
    """Trees without their words, with zeros after the last node."""

    spans: tf.Tensor  # [batch, nodes, 2]: the range of words below each node
    children: tf.Tensor  # [batch, nodes, 2]


class GraphTreeText(GraphText):
    """The graph counterpart of `TreeText`."""

    name_in_registry = "tree"

    field: TreeText
    tensors = {
        **GraphText.tensors,
        "children": tf.TensorSpec([None, None, 2], tf.int32),
    }

    def _cut(self, raw: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Return the words of each text, and its brackets, labels and words, which are empty for plain text."""
        texts = normalise(raw)
        bracketed = tf.strings.regex_full_match(texts, TREE)
        plain = split(tf.where(bracketed, "", texts), self.field.rules.tokenizer)
        symbols = tf.strings.split(tf.strings.regex_replace(tf.where(bracketed, texts, ""), r"([()])", r" \1 "))
        before = tf.concat([tf.fill([symbols.nrows(), 1], ""), symbols], axis=1)[:, :-1]
        words = tf.ragged.boolean_mask(symbols, (symbols != "(") & (symbols != ")") & (before != "("))
        return tf.concat([plain, words], axis=1), symbols

    def cut(self, raw: tf.Tensor) -> tf.RaggedTensor:
        """Return the words of each text."""
        return self._cut(raw)[0]

    def _shape(self, words: tf.Tensor, symbols: tf.RaggedTensor) -> Shape:
        """Return the trees that are given in brackets, and balanced trees for plain texts."""
        lengths = row_lengths(words != "")
        given, even = parse(symbols.to_tensor(""), self.input_name), _balance(lengths, self.field.limit)
        most = tf.maximum(tf.shape(given.children)[1], tf.shape(even.children)[1])

        def padded(values: tf.Tensor) -> tf.Tensor:
            return tf.pad(values, [[0, 0], [0, most - tf.shape(values)[1]], [0, 0]])

        bracketed = (symbols.row_lengths() > 0)[:, None, None]
        return Shape(*(tf.where(bracketed, padded(one), padded(other)) for one, other in zip(given, even, strict=True)))

    def _encode(self, words: tf.Tensor, shape: Shape) -> Tensors:
        ids = self.word_ids(words)
        low, high = tf.unstack(shape.spans, axis=-1)
        ids = tf.gather(tf.pad(ids, [[0, 0], [0, 1]]), low, batch_dims=1)
        return {"ids": tf.where(high - low > 1, INNER, tf.where(high > low, ids, 0)), "children": shape.children}

    def _read(self, raw: tf.Tensor) -> tuple[tf.Tensor, Shape]:
        cut, symbols = self._cut(raw)
        words = at_most(self.field.limit, cut, self.input_name)
        nodes = tf.reduce_max(tf.concat([tf.reduce_sum(tf.cast(symbols == "(", tf.int32), axis=1), [0]], axis=0))
        most = 2 * self.field.limit - 1
        expected = f"{self.input_name}: expected a tree of at most {most} nodes, received"
        with tf.control_dependencies([tf.debugging.Assert(nodes <= most, [expected, nodes])]):
            symbols = symbols.with_values(tf.identity(symbols.values))  # parsing compares all pairs
        return words, self._shape(words, symbols)

    def read(self, raw: tf.Tensor) -> FieldTensors:
        """Return the nodes, with the words, and the text below each node, as positions."""
        words, shape = self._read(raw)
        low, high = tf.split(shape.spans, 2, axis=-1)  # [batch, nodes, 1]
        places = tf.range(tf.shape(words)[1])
        spaced = tf.where((places >= low) & (places < high), tf.strings.join([" ", words[:, None]]), "")
        phrases = tf.strings.strip(tf.strings.reduce_join(spaced, axis=-1))
        return FieldTensors(self._encode(words, shape), {"": words, "nodes": phrases})

    def encode(self, raw: tf.Tensor) -> Tensors:
        """Return the nodes without positions."""
        return self._encode(*self._read(raw))

    def column(self, values: Sequence[Any]) -> Column:
        """Return all nodes in memory."""
        arrays = [self.field.encode(self.field.nodes(value)) for value in values]
        starts = np.concatenate([[0], np.cumsum([len(array["ids"]) for array in arrays])])
        empty = {"ids": np.zeros(0, np.int32), "children": np.zeros([0, 2], np.int32)}
        whole = {name: np.concatenate([none, *(array[name] for array in arrays)]) for name, none in empty.items()}
        return ColumnGroup([RaggedColumn(name, numbers, starts) for name, numbers in whole.items()])

    def to_wire(self, raw: tf.Tensor) -> Tensors:
        """Return the nodes and their number."""
        tensors = self.encode(raw)
        return {**tensors, "lengths": row_lengths(tensors["ids"] != 0)}

    def from_wire(self, sent: Tensors) -> Tensors:
        """Check the number of nodes and set those beyond the lengths to padding."""
        nodes = tf.shape(sent["ids"])[1]
        expected = f"{self.input_name}_ids: expected at most {2 * self.field.limit - 1} nodes, received"
        with tf.control_dependencies([tf.debugging.Assert(nodes < 2 * self.field.limit, [expected, nodes])]):
            there = length_mask(sent["lengths"], nodes)
        return {
            "ids": tf.where(there, sent["ids"], 0),
            "children": tf.where(there[..., None], sent["children"], NONE),
        }


def parse(symbols: tf.Tensor, name: str) -> Shape:
    """Parse trees from brackets, labels and words `[batch, symbols]`, which are padded with empty strings.

    All pairs of nodes are compared: the parent of a node is the last node before it that is one level up.
    """
    opens, closes = (tf.cast(symbols == bracket, tf.int32) for bracket in ("(", ")"))
    depth = tf.cumsum(opens, axis=1) - tf.cumsum(closes, axis=1, exclusive=True)  # a bracket has the depth of its node
    is_label = tf.pad(opens, [[0, 0], [1, 0]])[:, :-1] == 1
    is_word = (symbols != "") & (opens + closes == 0) & ~is_label
    number = tf.cumsum(opens, axis=1) - 1  # index of the node that was opened last
    count = tf.reduce_sum(opens, axis=1)  # [batch]
    nodes = tf.reduce_max(tf.concat([[0], count], axis=0))
    rows = tf.shape(symbols)[0]

    def at_nodes(values: tf.Tensor) -> tf.Tensor:  # [batch, symbols] -> [batch, nodes]
        return tf.RaggedTensor.from_row_lengths(tf.boolean_mask(values, opens == 1), count).to_tensor(
            0, shape=[None, None]
        )[:, :nodes]

    levels = tf.reshape(at_nodes(depth), [rows, nodes])
    first = tf.reshape(at_nodes(tf.cumsum(tf.cast(is_word, tf.int32), axis=1)), [rows, nodes])
    there = levels > 0
    ids = tf.range(nodes)
    earlier = ids < ids[:, None]  # [node, other]
    up = there[:, :, None] & earlier & (levels[:, None] == levels[:, :, None] - 1)
    parent = tf.reduce_max(tf.where(up, ids, -1), axis=2, keepdims=True)
    mine = (parent == ids) & there[:, :, None]  # [batch, child, parent]
    below = tf.reduce_sum(tf.cast(mine, tf.int32), axis=1)
    right = tf.reduce_max(tf.where(mine, ids[:, None], NONE), axis=1)
    left = tf.where(below > 0, ids + 1, NONE)
    later = there[:, None] & (ids > ids[:, None]) & (levels[:, None] <= levels[:, :, None])
    total = tf.reduce_sum(tf.cast(is_word, tf.int32), axis=1)[:, None]
    ends = tf.reduce_min(tf.where(later, first[:, None], total[:, None]), axis=2)
    next_there = tf.pad(there, [[0, 0], [0, 1]])[:, 1:]
    own = tf.where(next_there, tf.pad(first, [[0, 0], [0, 1]])[:, 1:], total) - first  # words before another node opens
    told = tf.gather(tf.pad(levels, [[0, 0], [0, 1]]), tf.maximum(number, 0), batch_dims=1)
    good = tf.stack(
        [
            tf.reduce_all((symbols == "") | (depth > 0), axis=1),  # nothing outside of brackets
            tf.reduce_sum(opens - closes, axis=1) == 0,
            tf.reduce_all(~is_label | ((symbols != "") & (opens + closes == 0)), axis=1),
            tf.reduce_sum(tf.cast((levels == 1) & there, tf.int32), axis=1) == tf.minimum(count, 1),
            tf.reduce_all(~is_word | (told == depth), axis=1),  # a word belongs to the node that was opened last
            tf.reduce_all(~there | ((below == 2) & (own == 0)) | ((below == 0) & (own == 1)), axis=1),
        ]
    )
    message = f"{name}: {EXPECTED}, received another"
    with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(good), [message])]):
        children = tf.where(there[..., None], tf.stack([left, right], axis=-1), NONE)
    return Shape(tf.where(there[..., None], tf.stack([first, ends], axis=-1), 0), children)


def _balance(lengths: tf.Tensor, limit: int) -> Shape:
    """Return balanced trees over `lengths` words `[batch]`; each node is found by a descent from the root."""
    nodes = tf.reduce_max(tf.concat([[0], 2 * lengths - 1], axis=0))
    wanted = tf.range(nodes)[None] + tf.zeros_like(lengths)[:, None]
    there = wanted < 2 * lengths[:, None] - 1
    node, low, high = tf.zeros_like(wanted), tf.zeros_like(wanted), lengths[:, None] + tf.zeros_like(wanted)
    for _ in range(limit.bit_length() + 1):
        middle = (low + high) // 2
        right = node + 2 * (middle - low)
        on, turns = node < wanted, wanted >= right
        node = tf.where(on, tf.where(turns, right, node + 1), node)
        low, high = tf.where(on & turns, middle, low), tf.where(on & ~turns, middle, high)
    right = node + 2 * ((low + high) // 2 - low)
    inner = (there & (high - low > 1))[..., None]
    children = tf.where(inner, tf.stack([node + 1, right], axis=-1), NONE)
    return Shape(tf.where(there[..., None], tf.stack([low, high], axis=-1), 0), children)
