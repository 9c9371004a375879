"""Structured self-attention: every word looks at its head in a dependency tree."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.alignments.structured import StructuredAlignment
from seqattn_tf.structured.packing import Packing
from seqattn_tf.structured.projective import ProjectiveTree
from seqattn_tf.structured.spanning import SpanningTree
from seqattn_tf.structured.trees import Trees

_TREES = {"projective": ProjectiveTree, "spanning": SpanningTree}


@keras.saving.register_keras_serializable("seqattn_tf")
class HeadsAlignment(StructuredAlignment):
    """`alpha_ij`, the probability that place `j` is the head of place `i` in a tree over the kept places.

        p(tree) ~ exp(sum_i e_{i, head(i)})        e_{i, root} learned, the same for all i

    Self-attention: queries and source are the same places. No place is its own head; what a row lacks to one is the
    probability that its place is the root's child, of which there is one.

    Args:
        tree: `"projective"`, whose arcs do not cross, in `O(source^3)`; or `"spanning"`, any, by the matrix-tree
            theorem.

    >>> align = HeadsAlignment()
    >>> weights, _ = align(tf.zeros([1, 2, 2]), tf.constant([[[True, True]]]))
    >>> weights.numpy().round(3).tolist()
    [[[0.0, 0.5], [0.5, 0.0]]]
    """

    name_in_registry = "heads"
    square = True

    def __init__(self, tree: str = "projective", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if tree not in _TREES:
            raise ValueError(f"tree: expected one of {sorted(_TREES)}. Received: {tree!r}")
        self.tree = tree

    @property
    def needs_more(self) -> str:
        """What LiteRT has no op for."""
        return "" if self.tree == "projective" else "heads of spanning trees (projective ones can), by an inverse"

    def build(self, logits_shape: Any = None) -> None:
        """Create the root's score."""
        self.root = self.add_weight(name="root", shape=(), initializer="zeros", autocast=False)
        self.built = True

    def _trees(self, logits: tf.Tensor, mask: tf.Tensor) -> tuple[Trees, Packing]:
        """The distribution over trees of the kept places, and where these are."""
        packing = Packing(mask)
        arcs = packing.pack(packing.pack(logits), axis=2)
        root = tf.zeros_like(arcs[:, :, :1]) + tf.cast(self.root, arcs.dtype)
        return _TREES[self.tree](tf.concat([root, arcs], 2), packing.lengths), packing

    def marginals(self, logits: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """By the tree, over the kept places."""
        trees, packing = self._trees(logits, tf.squeeze(mask, 1))
        return packing.unpack(packing.unpack(trees.marginals[:, :, 1:]), axis=2)

    def argmax(self, logits: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """The head of each place in the best tree, from logits and a mask `[batch, source]`: `int32 [batch, source]`.

        0 stands for the root, and for places that are not kept; the number of a place counts from 1.
        """
        wide, mask = self.padded(logits, mask[:, None])
        trees, packing = self._trees(wide, tf.squeeze(mask, 1))
        places = tf.broadcast_to(tf.range(1, tf.shape(wide)[1] + 1), tf.shape(wide)[:2])
        numbers = tf.pad(packing.pack(places), [[0, 0], [1, 0]])  # of the root, then of the kept places in their order
        heads = packing.unpack(tf.gather(numbers, trees.argmax, batch_dims=1))
        return heads[:, : tf.shape(logits)[1]]

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: tuple = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        """`[batch, source, source], [batch, 1, source] -> ([batch, source, source], state)`."""
        queries, source = logits.shape[1:]
        if None not in (queries, source) and queries != source:
            raise ValueError(f"query: expected one for each of the {source} places. Received: {queries}")
        return super().call(logits, mask, state, training)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "tree": self.tree}
