"""Trees over words, with states composed from the words up to the root."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.masking import row_lengths
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoders.base import Encoder, EncoderOutput, Tensors, weighed
from seqattn_tf.recurrent import TreeRecurrent


@keras.saving.register_keras_serializable("seqattn_tf")
class TreeEncoder(Encoder):
    """An encoder of trees with one value per node.

    Reads ids `[batch, nodes]`, the root first, and the numbers of their children `[batch, nodes, 2]`, with 0 for no
    child.

    Args:
        vocabulary: The number of ids.
        units: The state size of a node.
        embedding: The size of a word embedding. Inner nodes have none.
        composition: `"binary"` (TreeLSTM, left and right child), `"child_sum"` or `"tensor"`.
        dropout: The dropout rate of embeddings and values, in training.
        input_name: The name of the input.

    >>> encoder = TreeEncoder(30, units=8, embedding=4)
    >>> tree = {"text_ids": tf.constant([[1, 5, 6]]), "text_children": tf.constant([[[1, 2], [0, 0], [0, 0]]])}
    >>> encoder(tree).values.shape.as_list()
    [1, 3, 8]
    """

    name_in_registry = "tree"
    field_type = "tree"
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
        self.embedding.build((None, None))
        self.network.build((None, None, self.embedding.output_dim))
        self.built = True

    @property
    def output_size(self) -> int:
        return self.units

    @property
    def summary_size(self) -> int:
        return self.units

    def call(self, tensors: Tensors, training: bool = False) -> EncoderOutput:
        """Return one value per node. The summary is the value of the root."""
        ids, children = self.part(tensors, "ids"), self.part(tensors, "children")
        mask = ids != 0
        # The root has no parent, so its number 0 marks missing children.
        children = tf.where(children > 0, children, -1)
        words = tf.cast(children[..., :1] < 0, self.compute_dtype)  # inner nodes have no word
        embedded = weighed(self.drop(self.embedding(ids), training=training) * words, self.token_weights(tensors))
        values = self.drop(self.network(embedded, mask=mask, children=children), training=training)
        return EncoderOutput(values, mask, tf.pad(values, [[0, 0], [0, 1], [0, 0]])[:, 0])

    def input_lengths(self, tensors: Tensors) -> tf.Tensor:
        """Return the number of nodes."""
        return row_lengths(self.part(tensors, "ids") != 0)

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "vocabulary": self.vocabulary,
            "units": self.units,
            "embedding": self.embedding.output_dim,
            "composition": self.composition,
            "dropout": self.drop.rate,
        }
