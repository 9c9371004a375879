"""The base class of distributions over dependency trees.

score(tree) = sum_d arcs[d, head(d)]
"""

from typing import Any

import tensorflow as tf

from seqattn_tf.core.masking import length_mask
from seqattn_tf.core.scan import size_of
from seqattn_tf.structured.base import Structured, as_lengths, at_least, floats


class Trees(Structured):
    """A distribution over dependency trees: every word has one head, a word or the root, and there are no cycles.

    Structures are heads `int32 [batch, words]`: 0 for the root, otherwise the number of a word, counted from 1.

    Args:
        arcs: The log-potentials `[batch, words, words + 1]`, with a row for every word and a column for each possible
            head, the root first. A word is never its own head, whatever the score.
        lengths: The number of words in each row, `[batch]`. Defaults to the full length for every row.
        single_root: Whether the root has exactly one child.
    """

    def __init__(self, arcs: Any, lengths: Any = None, single_root: bool = True) -> None:
        self.arcs = floats(arcs, "arcs", 3)
        words, heads = self.arcs.shape[1:]
        if None not in (words, heads) and heads != words + 1:
            raise ValueError(
                f"arcs: expected [batch, words, words + 1], column 0 for the root. Received: shape {self.arcs.shape}"
            )
        self.single_root = single_root
        self.positions = size_of(self.arcs, 1)
        self.lengths = as_lengths(lengths, self.arcs, self.positions)
        self.arcs = at_least(2, at_least(1, self.arcs), axis=2)
        self.size = size_of(self.arcs, 1)
        ids = tf.range(self.size + 1)
        heads = length_mask(self.lengths + 1, self.size + 1)[:, None]
        self._exists = self._words[:, :, None] & heads & (ids != ids[1:, None])

    @property
    def _words(self) -> tf.Tensor:
        """The mask of the words, `[batch, words]`."""
        return length_mask(self.lengths, self.size)

    @property
    def _scores(self) -> tuple[tf.Tensor]:
        return (tf.where(self._exists, self.arcs, tf.zeros_like(self.arcs)),)

    def _possible(self, arcs: tf.Tensor) -> tf.Tensor:
        """Return the scores with `-inf` for missing arcs."""
        return tf.where(self._exists, arcs, tf.constant(-float("inf"), arcs.dtype))

    def _cut_marginals(self, marginals: tf.Tensor) -> tf.Tensor:
        found = super()._cut_marginals(marginals)
        return found if found is marginals else found[:, :, : self.positions + 1]

    def _check_comparable(self, other: Structured) -> None:
        super()._check_comparable(other)
        if isinstance(other, Trees) and self.single_root != other.single_root:
            raise ValueError(f"kl: expected trees with single_root={self.single_root}. Received: {other.single_root}")

    def score(self, structure: Any) -> tf.Tensor:
        """Return the sum of the scores of the arcs to the given heads, `[batch]`.

        It is not checked that the heads form a tree.
        """
        heads = tf.where(self._words, self._checked(structure, "heads"), 0)
        chosen = tf.gather(self._possible(self.arcs), heads, axis=2, batch_dims=2)
        return tf.reduce_sum(tf.where(self._words, chosen, tf.zeros_like(chosen)), 1)
