"""An encoder-decoder whose attention is told where to look while it learns."""

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
    """Symbols to symbols of the same ids: each symbol that is said should look at the place that has it.

        loss = cross-entropy + supervise * alignment_loss(weights, true places)

    Args:
        encoder, decoder: as of an `EncoderDecoder`.
        supervise: weight of that loss, in training.

    >>> network = GuidedEncoderDecoder.of_symbols(30, 30, units=8, embedding=4, supervise=0.5)
    >>> tensors = {"text_ids": tf.constant([[5, 7]]), "shifted": tf.constant([[1, 7]])}
    >>> logits = network(tensors, training=True)
    >>> len(network.losses)
    1
    """

    def __init__(self, encoder: Any, decoder: Any, supervise: float = 0.0, **kwargs: Any) -> None:
        super().__init__(encoder, decoder, **kwargs)
        if supervise < 0:
            raise ValueError(f"supervise: expected a number of at least 0. Received: {supervise}")
        self.supervise = supervise

    @classmethod
    def of_symbols(cls, *sizes: int, supervise: float = 0.0, **settings: Any) -> "GuidedEncoderDecoder":
        """As of an `EncoderDecoder`."""
        made = EncoderDecoder.of_symbols(*sizes, **settings)
        return cls(made.encoder, made.decoder, supervise, dtype=made.dtype_policy)

    def aligned(self, tensors: Tensors, training: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        """Teacher-forced logits, and where each step looked: `[batch, target, source]`."""
        read = self.encoder(tensors, training=training)
        return self.decoder(tensors[SHIFTED], read.values, mask=read.mask, summary=read.summary, training=training)

    @staticmethod
    def true_places(tensors: Tensors) -> tf.Tensor:
        """Which place each step is to look at, of the symbols said next: ones in `[batch, target, source]`.

        The last step, after which nothing is said, looks where it likes.
        """
        said, ids = tensors[SHIFTED][:, 1:], tensors[IDS]
        places = tf.pad(places_of(said, ids), [[0, 0], [0, 1]], constant_values=-1)
        return tf.one_hot(places, tf.shape(ids)[1])

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """Teacher-forced logits; the loss of the alignment beside them."""
        logits, weights = self.aligned(tensors, training)
        if training and self.supervise:
            lost = alignment_loss(weights, self.true_places(tensors))
            self.add_loss(self.supervise * tf.reduce_mean(lost))
        return logits

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "supervise": self.supervise}
