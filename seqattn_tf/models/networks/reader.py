"""The network of readers: a recurrent network over symbols, and its last state."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.cells import Cell
from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.lite.text.rules import PAD
from seqattn_tf.recurrent import Recurrent, Stack

IDS = "text_ids"


@keras.saving.register_keras_serializable("seqattn_tf")
class ReaderNetwork(keras.Model):
    """A number, or the logits of labels, from the states after the last symbol; id 0 is padding and is never read.

    Args:
        vocabulary: number of ids.
        outputs: how many numbers come out: one for each label, or one.
        units: state size of each layer.
        embedding: size of a symbol's embedding.
        cell: name of the recurrent cell.
        depth: number of layers, with residual connections between them.
        dropout: rate on embeddings and on the last states, in training.
        activation: of the cell's candidate and output, empty for the cell's own; `"linear"` makes an `"rnn"` that can
            add up.

    Call arguments: a dict with `text_ids [batch, source]`; returns `[batch, outputs]`.

    >>> ReaderNetwork(30, outputs=3, units=8, embedding=4)({"text_ids": tf.ones([2, 5], tf.int32)}).shape.as_list()
    [2, 3]
    """

    def __init__(
        self,
        vocabulary: int,
        outputs: int = 1,
        units: int = 32,
        embedding: int = 16,
        cell: str = "gru",
        depth: int = 1,
        dropout: float = 0.0,
        activation: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.settings = {
            "vocabulary": check_count("vocabulary", vocabulary),
            "outputs": check_count("outputs", outputs),
            "units": check_count("units", units),
            "embedding": check_count("embedding", embedding),
            "cell": cell,
            "depth": check_count("depth", depth),
            "dropout": dropout,
            "activation": activation,
        }
        alike = {"dtype": self.dtype_policy}
        shaped = {"activation": activation} if activation else {}
        self.embedding = keras.layers.Embedding(vocabulary, embedding, **alike)
        self.drop = keras.layers.Dropout(dropout, **alike)
        reads = [Recurrent(Cell.get(cell, units=units, **shaped, **alike), **alike) for _ in range(depth)]
        self.encoder = Stack(reads, residual=True, **alike)

    def build(self, input_shape: Any = None) -> None:
        """Build every part; the shapes follow from the settings."""
        self.embedding.build((None, None))
        if not self.encoder.built:
            self.encoder.build((None, None, self.settings["embedding"]))
        shape = (self.encoder.output_size, self.settings["outputs"])
        self.kernel = self.add_weight(name="kernel", shape=shape)
        self.bias = self.add_weight(name="bias", shape=shape[1:], initializer="zeros")
        self.built = True

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """One answer for each row."""
        source = tensors[IDS]
        embedded = self.drop(self.embedding(source), training=training)
        states = self.encoder.read(embedded, mask=source != PAD, training=training).states
        last = self.encoder.final_output(states)
        return linear(self.drop(last, training=training), self.kernel, self.bias)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), **self.settings}
