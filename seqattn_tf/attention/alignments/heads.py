"""Structured self-attention: every word attends to its head in a dependency tree."""

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
    """Dependency attention: `alpha_ij` is the probability that position `j` is the head of position `i`.

        p(tree) ~ exp(sum_i e_{i, head(i)})        e_{i, root} is trainable and the same for all i

    The trees span the unmasked positions. This is self-attention: queries and source are the same positions. No
    position is its own head. What is missing from a row sum of 1 is the probability that its position is the child of
    the root, of which there is exactly one.

    Args:
        tree: `"projective"` for trees without crossing arcs, in `O(source^3)`, or `"spanning"` for any tree, by the
            matrix-tree theorem.

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
        """The operation that LiteRT lacks, or an empty string."""
        return "" if self.tree == "projective" else "heads of spanning trees (projective ones can), by an inverse"

    def build(self, logits_shape: Any = None) -> None:
        """Create the score of the root."""
        self.root = self.add_weight(name="root", shape=(), initializer="zeros", autocast=False)
        self.built = True

    def _trees(self, logits: tf.Tensor, mask: tf.Tensor) -> tuple[Trees, Packing]:
        """Return the distribution over trees of the unmasked positions, and the packing of these positions."""
        packing = Packing(mask)
        arcs = packing.pack(packing.pack(logits), axis=2)
        root = tf.zeros_like(arcs[:, :, :1]) + tf.cast(self.root, arcs.dtype)
        return _TREES[self.tree](tf.concat([root, arcs], 2), packing.lengths), packing

    def marginals(self, logits: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        trees, packing = self._trees(logits, tf.squeeze(mask, 1))
        return packing.unpack(packing.unpack(trees.marginals[:, :, 1:]), axis=2)

    def argmax(self, logits: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Return the heads of the best tree, given logits and a mask `[batch, source]`: `int32 [batch, source]`.

        Positions count from 1. The root and masked positions are 0.
        """
        wide, mask = self.padded(logits, mask[:, None])
        trees, packing = self._trees(wide, tf.squeeze(mask, 1))
        places = tf.broadcast_to(tf.range(1, tf.shape(wide)[1] + 1), tf.shape(wide)[:2])
        numbers = tf.pad(packing.pack(places), [[0, 0], [1, 0]])  # the root, then the unmasked positions in order
        heads = packing.unpack(tf.gather(numbers, trees.argmax, batch_dims=1))
        return heads[:, : tf.shape(logits)[1]]

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: tuple = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        queries, source = logits.shape[1:]
        if None not in (queries, source) and queries != source:
            raise ValueError(f"query: expected one query for each of the {source} positions. Received: {queries}")
        return super().call(logits, mask, state, training)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "tree": self.tree}
