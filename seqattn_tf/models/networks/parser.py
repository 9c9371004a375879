"""The network of dependency parsers: scores of all arcs between words."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.linear import linear
from seqattn_tf.core.masking import row_lengths
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoders import Encoder
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.models.networks.base import ReadingNetwork


@keras.saving.register_keras_serializable("seqattn_tf")
class ParserNetwork(ReadingNetwork):
    """A network that scores all arcs and their relations (Dozat and Manning, 2017).

        arcs[d, h] = a_d W b_h + v . b_h            relations[d, h] = log softmax(c_d U e_h + ...)

    where each of `a, b, c, e` is a dense layer over the encoding of a word, as a dependent (`a`, `c`) or a head (`b`,
    `e`).

    Args:
        encoder: The encoder, which must return a value for each position.
        relations: The number of relations.
        arc_units: The width of `a` and `b`.
        relation_units: The width of `c` and `e`.
        dropout: The dropout rate of all four layers in training.

    Call arguments: a dict with the tensors that the encoder reads; returns `arcs [batch, words, root and words]`,
    `relations [batch, words, root and words, relations]` and `lengths [batch]`.

    >>> from seqattn_tf.encoders import BidirectionalEncoder
    >>> network = ParserNetwork(BidirectionalEncoder(30, units=8), relations=3)
    >>> network({"text_ids": tf.ones([2, 5], tf.int32)})["relations"].shape.as_list()
    [2, 5, 6, 3]
    """

    def __init__(
        self,
        encoder: Encoder,
        relations: int,
        arc_units: int = 200,
        relation_units: int = 64,
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(encoder, **kwargs)
        self.relations = check_count("relations", relations)
        self.arc_units = check_count("arc_units", arc_units)
        self.relation_units = check_count("relation_units", relation_units)
        alike = {"dtype": self.dtype_policy}
        self.drop = keras.layers.Dropout(dropout, **alike)
        units = {"head": arc_units, "dependent": arc_units, "governor": relation_units, "governed": relation_units}
        self.layers_of = {
            name: keras.layers.Dense(size, activation="leaky_relu", name=name, **alike) for name, size in units.items()
        }

    def build(self, input_shape: Any = None) -> None:
        super().build()
        width = self.encoder.output_size
        for layer in self.layers_of.values():
            if not layer.built:
                layer.build((None, None, width))
        self.root = self.add_weight(name="root", shape=(1, 1, width))
        self.arc_kernel = self.add_weight(name="arc_kernel", shape=(self.arc_units, self.arc_units))
        self.arc_bias = self.add_weight(name="arc_bias", shape=(self.arc_units, 1), initializer="zeros")
        units, count = self.relation_units + 1, self.relations  # one more for linear terms in head or dependent
        self.relation_kernel = self.add_weight(name="relation_kernel", shape=(units, count * units))

    def call(self, tensors: Tensors, training: bool = False) -> Tensors:
        read = self.encoder(tensors, training=training)
        values, lengths = read.values, row_lengths(read.mask)
        batch, words = tf.shape(values)[0], tf.shape(values)[1]
        root = tf.broadcast_to(tf.cast(self.root, values.dtype), [batch, 1, values.shape[-1]])
        heads = tf.concat([root, values], axis=1)

        def view(name: str, of: tf.Tensor) -> tf.Tensor:
            return self.drop(self.layers_of[name](of), training=training)

        head, dependent = view("head", heads), view("dependent", values)
        arcs = tf.matmul(linear(dependent, self.arc_kernel), head, transpose_b=True)
        arcs += tf.linalg.matrix_transpose(linear(head, self.arc_bias))  # how likely a word is to be a head at all
        governor, governed = (
            tf.pad(view(name, of), [[0, 0], [0, 0], [0, 1]], constant_values=1)
            for name, of in (("governor", heads), ("governed", values))
        )
        units = self.relation_units + 1
        asked = tf.reshape(linear(governed, self.relation_kernel), [batch, words * self.relations, units])
        scores = tf.matmul(asked, governor, transpose_b=True)  # [batch, words * relations, root and words]
        scores = tf.reshape(scores, [batch, words, self.relations, words + 1])
        scores = tf.transpose(tf.cast(scores, tf.float32), [0, 1, 3, 2])
        return {"arcs": tf.cast(arcs, tf.float32), "relations": tf.nn.log_softmax(scores), "lengths": lengths}

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "relations": self.relations,
            "arc_units": self.arc_units,
            "relation_units": self.relation_units,
            "dropout": self.drop.rate,
        }
