"""The network of models that answer questions about an image: the words of a question attend to the image."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention import Attention
from seqattn_tf.core.masking import masked_mean
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoders import Encoder
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.models.networks.base import ReadingNetwork
from seqattn_tf.recurrent import Bidirectional


@keras.saving.register_keras_serializable("seqattn_tf")
class ImageAnswerNetwork(ReadingNetwork):
    """A network that computes the logits of answers from an image and a question whose words attend to the image.

        h_t = norm(RNN(question))_t    a_tj = softmax_j(h_t W v_j)    c_t = sum_j a_tj v_j
        s = RNN(relu(U [h_t; c_t]))    g_j = relu(V relu(A v_j (1 + C q) + B q))    q = mean_t h_t
        y = H [mean_t s_t; sum_j g_j / sqrt(J); q]    for J positions

    Without attention, there is no `s`: the answer comes from the whole feature map and the question, `[CNN(I);
    RNN(q)]`.

    Args:
        encoder: The image encoder.
        question: The question encoder.
        outputs: The number of answers.
        use_attention: Whether every word of the question attends to the image.
        units: The width of all hidden layers.
        cell: The name of the recurrent cell that reads the words and their context vectors.
        dropout: The dropout rate before the output layer in training.

    Call arguments: a dict with the tensors that both encoders read; returns `[batch, outputs]`.

    >>> from seqattn_tf.encoders import BidirectionalEncoder, GridEncoder
    >>> question = BidirectionalEncoder(30, units=8, input_name="question")
    >>> network = ImageAnswerNetwork(GridEncoder("cnn", 32, 32), question, outputs=4, units=8)
    >>> network({"image_pixels": tf.zeros([1, 32, 32, 3]), "question_ids": tf.constant([[5, 6]])}).shape.as_list()
    [1, 4]
    """

    def __init__(
        self,
        encoder: Encoder,
        question: Encoder,
        outputs: int,
        use_attention: bool = True,
        units: int = 128,
        cell: str = "gru",
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(encoder, **kwargs)
        self.question, self.outputs_count = question, check_count("outputs", outputs)
        self.use_attention, self.units, self.cell = use_attention, check_count("units", units), cell
        alike = {"dtype": self.dtype_policy}
        self.norm, self.drop = keras.layers.LayerNormalization(**alike), keras.layers.Dropout(dropout, **alike)
        if use_attention:
            self.attention = Attention("general", "softmax", **alike)
            self.join = keras.layers.Dense(units, "relu", **alike)
            self.follow = Bidirectional(cell, units=max(units // 2, 1), return_sequences=True, **alike)
        self.seen, self.fitted = keras.layers.Dense(units, **alike), keras.layers.Dense(units, "relu", **alike)
        self.sought, self.wanted = (keras.layers.Dense(units, use_bias=False, **alike) for _ in range(2))
        self.hidden, self.decide = keras.layers.Dense(units, "relu", **alike), keras.layers.Dense(outputs, **alike)

    def build(self, input_shape: Any = None) -> None:
        super().build()
        if not self.question.built:
            self.question.build()
        cells, asked, units = self.encoder.output_size, self.question.output_size, self.units
        found = self.follow.output_size if self.use_attention else 0
        shapes = [(self.norm, asked), (self.seen, cells), (self.sought, asked), (self.wanted, asked)]
        shapes += [(self.fitted, units), (self.hidden, found + units + asked), (self.decide, units)]
        if self.use_attention:
            shapes.append((self.join, asked + cells))
        for layer, size in shapes:
            if not layer.built:
                layer.build((None, None, size))
        if self.use_attention and not self.attention.built:
            self.attention.build((None, None, asked), (None, None, cells))
            self.follow.build((None, None, units))

    @property
    def pictures(self) -> Any:
        """The image encoder."""
        return self.encoder

    def _find(self, tensors: Tensors, training: bool) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Return the logits and the attention weights `[batch, words, positions]`."""
        read, asked = self.encoder(tensors, training=training), self.question(tensors, training=training)
        words, weights = self.norm(asked.values), None
        whole = masked_mean(words, asked.mask)
        found = [self._fitting(read.values, whole), whole]
        if self.use_attention:
            memory = self.attention.prepare(read.values, read.mask)
            query = words / tf.sqrt(tf.cast(words.shape[-1], words.dtype))
            seen, weights, _ = self.attention.attend(query, memory, training=training, query_mask=asked.mask)
            followed = self.follow(self.join(tf.concat([words, seen], -1)), mask=asked.mask, training=training)
            found.append(masked_mean(followed, asked.mask))
        return self.decide(self.drop(self.hidden(tf.concat(found, axis=-1)), training=training)), weights

    def _fitting(self, values: tf.Tensor, asked: tf.Tensor) -> tf.Tensor:
        """Return how much of the image matches the question, `[batch, units]`; more matches give larger values."""
        fits = self.seen(values) * (1 + self.wanted(asked)[:, None]) + self.sought(asked)[:, None]
        found = self.fitted(tf.nn.relu(fits))
        return tf.reduce_sum(found, axis=1) / tf.sqrt(tf.cast(tf.shape(found)[1], found.dtype))

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        return self._find(tensors, training)[0]

    def look(self, tensors: Tensors) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Return the logits and the attention weights of each word over the positions of the image."""
        logits, weights = self._find(tensors, False)
        return logits, None if weights is None else self.encoder.to_positions(weights, tensors)

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "question": keras.saving.serialize_keras_object(self.question),
            "outputs": self.outputs_count,
            "use_attention": self.use_attention,
            "units": self.units,
            "cell": self.cell,
            "dropout": self.drop.rate,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> "ImageAnswerNetwork":
        parts = {name: keras.saving.deserialize_keras_object(config[name]) for name in ("encoder", "question")}
        return cls(**{**config, **parts})
