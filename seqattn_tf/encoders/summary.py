"""A summary in place of all values, as in encoder-decoder models without attention."""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.encoders.base import Encoder, EncoderOutput, Tensors


@keras.saving.register_keras_serializable("seqattn_tf")
class SummaryEncoder(Encoder):
    """An encoder that returns the summary of another one, for the initial state of the decoder and as the only value.

    Args:
        encoder: The encoder that reads the input.
        every_step: Whether the decoder reads the summary at every step; otherwise its value is masked.
        dropout: The dropout rate of the value, in training.

    >>> from seqattn_tf.encoders import BidirectionalEncoder
    >>> encoder = SummaryEncoder(BidirectionalEncoder(30, units=8))
    >>> encoder({"text_ids": tf.ones([2, 5], tf.int32)}).values.shape.as_list()
    [2, 1, 16]
    """

    attendable = one_per_token = False

    def __init__(self, encoder: Encoder, every_step: bool = True, dropout: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "input_name": encoder.input_name})
        self.encoder, self.every_step = encoder, every_step
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, input_shape: Any = None) -> None:
        if not self.encoder.built:
            self.encoder.build()
        self.built = True

    @property
    def output_size(self) -> int:
        return self.encoder.summary_size

    @property
    def summary_size(self) -> int:
        return self.encoder.summary_size

    def call(self, tensors: Tensors, training: bool = False) -> EncoderOutput:
        """Return the summary as a single value."""
        read = self.encoder(tensors, training=training)
        mask = tf.reduce_any(read.mask, axis=1, keepdims=True) & self.every_step
        return EncoderOutput(self.drop(read.summary[:, None], training=training), mask, read.summary)

    def input_lengths(self, tensors: Tensors) -> tf.Tensor:
        return self.encoder.input_lengths(tensors)

    @property
    def arguments(self) -> dict[str, Any]:
        encoder = keras.saving.serialize_keras_object(self.encoder)
        return {"encoder": encoder, "every_step": self.every_step, "dropout": self.drop.rate}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "SummaryEncoder":
        return cls(**{**config, "encoder": keras.saving.deserialize_keras_object(config["encoder"])})


CONTEXTS: dict[str, Callable[..., Encoder]] = {  # how a decoder reads the source, as functions of `(encoder, dropout)`
    "attention": lambda encoder, dropout: encoder,
    "input": lambda encoder, dropout: SummaryEncoder(encoder, True, dropout),
    "state": lambda encoder, dropout: SummaryEncoder(encoder, False),
}
