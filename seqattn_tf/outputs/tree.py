"""The graph counterpart of dependency trees."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.core.columns import Column, ColumnGroup, RaggedColumn
from seqattn_tf.core.masking import length_mask
from seqattn_tf.core.replicas import mean_of_all
from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.targets.heads import NONE
from seqattn_tf.lite.targets.tree import Tree
from seqattn_tf.outputs.base import Tensors
from seqattn_tf.outputs.heads import GraphHeads
from seqattn_tf.outputs.tags import joined
from seqattn_tf.structured import ProjectiveTree, SpanningTree


class GraphTree(GraphHeads):
    """The graph counterpart of `Tree`.

    The outputs of a network are `arcs [batch, words, root and words]`, `relations [batch, words, root and words,
    relations]` with the log-probabilities of the relations of each arc, and `lengths [batch]`.
    """

    name_in_registry = "tree"

    target: Tree

    def column(self, values: Sequence[Any]) -> Column:
        """Return the column of heads and relations of many examples."""
        try:
            arrays = [self.target.arrays(value) for value in values]
        except ValueError as error:
            raise ValueError(f"target: {error}") from None
        starts = np.concatenate([[0], np.cumsum([len(array["heads"]) for array in arrays])])
        whole = {name: np.concatenate([array[name] for array in arrays]) for name in self.target.names}
        return ColumnGroup([RaggedColumn(name, numbers, starts, padding=NONE) for name, numbers in whole.items()])

    def y_true(self, rows: Tensors) -> tf.Tensor:
        """Return heads and relations side by side: `[batch, words, 2]`."""
        return tf.stack([rows[name] for name in self.target.names], axis=-1)

    def _trees(self, arcs: tf.Tensor, lengths: tf.Tensor) -> ProjectiveTree | SpanningTree:
        return (ProjectiveTree if self.target.projective else SpanningTree)(arcs, lengths)

    def loss(self, label_smoothing: float = 0.0) -> Callable[[tf.Tensor, Any], tf.Tensor]:
        """Return a function that computes the negative log-likelihood of the correct trees and relations per word."""
        if label_smoothing:
            raise ValueError(f"label_smoothing: expected 0 for trees. Received: {label_smoothing}")
        return self._loss

    def _loss(self, right: tf.Tensor, outputs: Tensors) -> tf.Tensor:
        heads, relations = tf.unstack(tf.maximum(tf.cast(right, tf.int32), 0), axis=-1)
        lengths = outputs["lengths"]
        of_trees = tf.reduce_sum(self._trees(outputs["arcs"], lengths).log_prob(heads))
        of_heads = tf.gather(outputs["relations"], heads, batch_dims=2)  # [batch, words, relations]
        chosen = tf.gather(of_heads, relations, batch_dims=2)
        there = length_mask(lengths, tf.shape(heads)[1])
        total = of_trees + tf.reduce_sum(tf.where(there, chosen, 0.0))
        return mean_of_all(-total, tf.reduce_sum(lengths))

    def potentials(self, outputs: Tensors) -> Tensors:
        """Return the tensors from which a host decodes, with only the best relation of each arc."""
        relations = outputs["relations"]
        return {
            "arcs": outputs["arcs"],
            "gains": tf.reduce_max(relations, axis=-1),
            "relations": tf.argmax(relations, axis=-1, output_type=tf.int32),
            "lengths": outputs["lengths"],
        }

    def decode_structure(self, outputs: Tensors, answers: int = 1, look: str = "text") -> Tensors:
        """Return the tree with the most labeled arcs expected to be correct, and the marginals of all arcs."""
        given = self.potentials(outputs)
        arcs, lengths = given["arcs"], given["lengths"]
        log_partition, marginals = self._trees(arcs, lengths).posterior()
        heads = self._trees(marginals * tf.exp(given["gains"]), lengths).argmax
        there = length_mask(lengths, tf.shape(heads)[1])
        scores = self._trees(arcs + given["gains"], lengths).score(heads) - log_partition
        relations = tf.gather(given["relations"], heads, batch_dims=2)
        return {
            "heads": tf.where(there, heads, NONE)[:, None],
            "relations": tf.where(there, relations, 0)[:, None],
            "scores": tf.where(lengths > 0, scores, -float("inf"))[:, None],
            look + ATTENTION: marginals[:, :, 1:],
        }

    def _names(self, found: Tensors) -> tf.Tensor:
        relations = tf.gather(tf.constant(self.target.relations), found["relations"])
        names = tf.strings.join([tf.strings.as_string(found["heads"]), relations], ":")
        return tf.where(found["heads"] == NONE, "", names)

    def texts(self, found: Tensors) -> tf.Tensor:
        """Return the arcs, separated by spaces."""
        return joined(self._names(found))
