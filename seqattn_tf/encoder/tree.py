"""Trees over words: states composed from the words up to the root."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.masking import row_lengths
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoder.base import Encoder, Read, Tensors, weighed
from seqattn_tf.recurrent import TreeRecurrent


@keras.saving.register_keras_serializable("seqattn_tf")
class TreeEncoder(Encoder):
    """Reads ids `[batch, nodes]` and children `[batch, nodes, 2]`, 0 for none, the root first; a value for each node.

    Args:
        vocabulary: number of ids.
        units: state size of a node.
        embedding: size of a word's embedding; a node above the words has none.
        composition: `"binary"` (TreeLSTM, left and right), `"child_sum"` or `"tensor"`.
        dropout: rate on embeddings and values, in training.
        reads: the name of the input.

    >>> encoder = TreeEncoder(30, units=8, embedding=4)
    >>> tree = {"text_ids": tf.constant([[1, 5, 6]]), "text_children": tf.constant([[[1, 2], [0, 0], [0, 0]]])}
    >>> encoder(tree).values.shape.as_list()
    [1, 3, 8]
    """

    name_in_registry = "tree"
    takes = "tree"
    level = "nodes"

    def __init__(
        self,
        vocabulary: int,
        units: int = 150,
        embedding: int = 64,
        composition: str = "binary",
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.vocabulary, self.units = check_count("vocabulary", vocabulary), check_count("units", units)
        self.composition = composition
        alike = {"dtype": self.dtype_policy}
        self.embedding = keras.layers.Embedding(vocabulary, embedding, embeddings_initializer="glorot_uniform", **alike)
        self.drop = keras.layers.Dropout(dropout, **alike)
        self.network = TreeRecurrent(composition, units, return_sequences=True, **alike)

    def build(self, input_shape: Any = None) -> None:
        """Build every part; the shapes follow from the arguments."""
        self.embedding.build((None, None))
        self.network.build((None, None, self.embedding.output_dim))
        self.built = True

    @property
    def output_size(self) -> int:
        """Of a node."""
        return self.units

    @property
    def summary_size(self) -> int:
        """Of the root."""
        return self.units

    def call(self, tensors: Tensors, training: bool = False) -> Read:
        """A value for each node; the summary is the root's."""
        ids, children = self.part(tensors, "ids"), self.part(tensors, "children")
        mask = ids != 0
        children = tf.where(children > 0, children, -1)  # the root is nobody's child: its number stands for none
        words = tf.cast(children[..., :1] < 0, self.compute_dtype)  # a node above them has no word
        embedded = weighed(self.drop(self.embedding(ids), training=training) * words, self.kept(tensors))
        values = self.drop(self.network(embedded, mask=mask, children=children), training=training)
        return Read(values, mask, tf.pad(values, [[0, 0], [0, 1], [0, 0]])[:, 0])

    def places_read(self, tensors: Tensors) -> tf.Tensor:
        """Nodes."""
        return row_lengths(self.part(tensors, "ids") != 0)

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            "vocabulary": self.vocabulary,
            "units": self.units,
            "embedding": self.embedding.output_dim,
            "composition": self.composition,
            "dropout": self.drop.rate,
        }
