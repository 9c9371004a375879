"""An encoder-decoder whose attention is supervised in training."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.losses import alignment_loss
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.models.networks.encoder_decoder import EncoderDecoder
from seqattn_tf.models.networks.pointing import IDS, places_of
from seqattn_tf.outputs.symbols import SHIFTED


@keras.saving.register_keras_serializable("seqattn_tf")
class GuidedEncoderDecoder(EncoderDecoder):
    """A network whose input and output share ids, where each output symbol should attend to its position in the input.

        loss = cross-entropy + attention_supervision * alignment_loss(weights, true places)

    Args:
        encoder, decoder: As in an `EncoderDecoder`.
        attention_supervision: The weight of the alignment loss in training.

    >>> network = GuidedEncoderDecoder.of_symbols(30, 30, units=8, embedding=4, attention_supervision=0.5)
    >>> tensors = {"text_ids": tf.constant([[5, 7]]), "shifted": tf.constant([[1, 7]])}
    >>> logits = network(tensors, training=True)
    >>> len(network.losses)
    1
    """

    def __init__(self, encoder: Any, decoder: Any, attention_supervision: float = 0.0, **kwargs: Any) -> None:
        super().__init__(encoder, decoder, **kwargs)
        if attention_supervision < 0:
            raise ValueError(
                f"attention_supervision: expected a number of at least 0. Received: {attention_supervision}"
            )
        self.attention_supervision = attention_supervision

    @classmethod
    def of_symbols(cls, *sizes: int, attention_supervision: float = 0.0, **settings: Any) -> "GuidedEncoderDecoder":
        made = EncoderDecoder.of_symbols(*sizes, **settings)
        return cls(made.encoder, made.decoder, attention_supervision, dtype=made.dtype_policy)

    def aligned(self, tensors: Tensors, training: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        """Return teacher-forced logits and the attention weights of each step: `[batch, target, source]`."""
        read = self.encoder(tensors, training=training)
        return self.decoder(tensors[SHIFTED], read.values, mask=read.mask, summary=read.summary, training=training)

    @staticmethod
    def true_places(tensors: Tensors) -> tf.Tensor:
        """Return the input position of the symbol that each step predicts, one-hot: `[batch, target, source]`.

        The attention of a step should be at this position. The last step predicts no symbol, so its attention is not
        supervised.
        """
        said, ids = tensors[SHIFTED][:, 1:], tensors[IDS]
        places = tf.pad(places_of(said, ids), [[0, 0], [0, 1]], constant_values=-1)
        return tf.one_hot(places, tf.shape(ids)[1])

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """Return teacher-forced logits; in training, also add the alignment loss."""
        logits, weights = self.aligned(tensors, training)
        if training and self.attention_supervision:
            lost = alignment_loss(weights, self.true_places(tensors))
            self.add_loss(self.attention_supervision * tf.reduce_mean(lost))
        return logits

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "attention_supervision": self.attention_supervision}
