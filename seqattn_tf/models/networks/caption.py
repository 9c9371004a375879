"""The network of captioning models: a decoder that attends to the regions of an image."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention import HardAlignment
from seqattn_tf.attention.losses import Reinforce, alignment_loss, doubly_stochastic
from seqattn_tf.decoders.symbols import SymbolDecoder
from seqattn_tf.encoders import Encoder, SummaryEncoder
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.models.networks.encoder_decoder import EncoderDecoder
from seqattn_tf.outputs.symbols import SHIFTED

# How the image enters the decoder: in its initial state alone, in its input at every step, by soft attention to the
# cells of the feature map, or by attention to one sampled cell.
CONDITIONINGS = {"state": "state", "input": "input", "soft": "attention", "hard": "attention"}
REGIONS = "regions"  # the training tensor of an image with the cells that each word should attend to


@keras.saving.register_keras_serializable("seqattn_tf")
class CaptionNetwork(EncoderDecoder):
    """Show, Attend and Tell (Xu et al., 2015): an image encoder and an attention decoder over words.

        loss = cross-entropy + doubly_stochastic_weight * mean_j (1 - sum_t alpha_tj)^2
                             + attention_supervision * alignment_loss(alpha, regions)
                             + REINFORCE, if positions are sampled (conditioning "hard")

    Args:
        encoder, decoder: As in an `EncoderDecoder`.
        doubly_stochastic_weight: The weight of the loss term that makes the attention to each position sum to 1 over
            time.
        attention_supervision: The weight of the loss term that makes words attend to the positions given in
            `INPUT_regions [batch, target, positions]`.
        entropy_weight: The weight of the entropy bonus, which encourages exploration when positions are sampled.
        reinforce_weight: The weight of the REINFORCE loss, whose reward for the sampled positions is the log-likelihood
            of the answer.

    >>> from seqattn_tf.encoders import GridEncoder
    >>> network = CaptionNetwork.of_pictures(GridEncoder("cnn", 32, 32, units=8), 40, units=8, embedding=4)
    >>> pixels = tf.zeros([2, 32, 32, 3])
    >>> network({"image_pixels": pixels, "shifted": tf.ones([2, 3], tf.int32)}).shape.as_list()
    [2, 3, 40]
    """

    def __init__(
        self,
        encoder: Encoder,
        decoder: SymbolDecoder,
        doubly_stochastic_weight: float = 0.0,
        attention_supervision: float = 0.0,
        entropy_weight: float = 0.01,
        reinforce_weight: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(encoder, decoder, **kwargs)
        for name, value in (
            ("doubly_stochastic_weight", doubly_stochastic_weight),
            ("attention_supervision", attention_supervision),
            ("entropy_weight", entropy_weight),
            ("reinforce_weight", reinforce_weight),
        ):
            if not value >= 0:
                raise ValueError(f"{name}: expected a number of at least 0. Received: {value}")
        if (doubly_stochastic_weight or attention_supervision) and not encoder.attendable:
            raise ValueError(
                "doubly_stochastic_weight, attention_supervision: expected 0 without attention. "
                "Received: a positive value"
            )
        self.doubly_stochastic_weight, self.attention_supervision, self.entropy_weight, self.reinforce_weight = (
            doubly_stochastic_weight,
            attention_supervision,
            entropy_weight,
            reinforce_weight,
        )
        align = getattr(decoder.attention, "align", None)
        draws = isinstance(align, HardAlignment) and align.estimator == "reinforce"
        self.reinforce = Reinforce(entropy=entropy_weight) if draws else None

    @classmethod
    def of_pictures(
        cls,
        encoder: Encoder,
        vocabulary: int,
        *,
        conditioning: str = "soft",
        units: int = 256,
        embedding: int = 128,
        cell: str = "lstm",
        gate: bool = True,
        soft_probability: float = 0.5,
        dropout: float = 0.0,
        embedding_dropout: float | None = None,
        dtype: Any = None,
        **losses: Any,
    ) -> "CaptionNetwork":
        """Create a network from the names of its parts and their common size.

        Args:
            encoder: The image encoder.
            vocabulary: The number of words.
            conditioning: How the image enters the decoder: `"state"`, as the mean of the feature map in the initial
                state; `"input"`, as that mean at every step; `"soft"` or `"hard"`, by attention to the cells of the
                map. The last two also start from the mean.
            units: The size of the decoder, of the attention score and of the readout.
            embedding: The size of a word embedding.
            cell: The name of the recurrent cell.
            gate: Whether the state also gates the context vector.
            soft_probability: How often hard attention uses the weighted mean of all positions in training instead of a
                sampled one.
            dropout: The dropout rate of embeddings and readout in training.
            embedding_dropout: The dropout rate of embeddings, if different; None for `dropout`.
            dtype: The dtype of all parts.
            **losses: `doubly_stochastic_weight`, `attention_supervision`, `entropy_weight`, `reinforce_weight`.
        """
        if conditioning not in CONDITIONINGS:
            raise ValueError(f"conditioning: expected one of {sorted(CONDITIONINGS)}. Received: {conditioning!r}")
        hard = conditioning == "hard"
        align = HardAlignment("reinforce", soft_probability=soft_probability, dtype=dtype) if hard else "softmax"
        sizes: dict[str, Any] = {"units": units, "embedding": embedding, "cell": cell, "dropout": dropout}
        sizes["embedding_dropout"] = embedding_dropout
        sees: dict[str, Any] = {"align": align, "gate": gate, "conditioning": CONDITIONINGS[conditioning]}
        return cls.of_encoder(encoder, vocabulary, **sizes, **sees, dtype=dtype, **losses)

    @property
    def pictures(self) -> Any:
        """The image encoder, independent of the conditioning of the decoder."""
        return self.encoder.encoder if isinstance(self.encoder, SummaryEncoder) else self.encoder

    def build(self, input_shape: Any = None) -> None:
        """Build encoder and decoder, and the REINFORCE baseline if positions are sampled."""
        if self.reinforce is not None and not self.reinforce.built:
            self.reinforce.build()
        super().build(input_shape)

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """Return teacher-forced logits; in training, also add the other loss terms."""
        if not training:
            return super().call(tensors, training=False)
        read, said = self.encoder(tensors, training=True), tensors[SHIFTED]
        found = self.decoder.run(said, read.values, mask=read.mask, summary=read.summary, training=True)
        logits, weights, last = found
        steps = said != 0
        if self.doubly_stochastic_weight:
            lacking = doubly_stochastic(weights, read.mask, steps) / tf.cast(tf.shape(weights)[2], tf.float32)
            self.add_loss(self.doubly_stochastic_weight * tf.reduce_mean(lacking))
        if self.attention_supervision:
            regions = tensors[f"{self.encoder.input_name}_{REGIONS}"]
            self.add_loss(self.attention_supervision * tf.reduce_mean(alignment_loss(weights, regions)))
        if self.reinforce is not None:
            _, (log_prob, entropy) = last.attention
            drawn = self.reinforce(answer_likelihood(logits, said), log_prob, entropy, training=True)
            self.add_loss(
                self.reinforce_weight * drawn / tf.reduce_mean(tf.reduce_sum(tf.cast(steps, tf.float32), axis=1))
            )
        return logits

    def get_config(self) -> dict[str, Any]:
        own = {
            name: getattr(self, name)
            for name in ("doubly_stochastic_weight", "attention_supervision", "entropy_weight", "reinforce_weight")
        }
        return {**super().get_config(), **own}


def answer_likelihood(logits: tf.Tensor, shifted: tf.Tensor) -> tf.Tensor:
    """Return the log-likelihood `[batch]` of the next symbols: of `[batch, target]` symbols, all but the first."""
    right = shifted[:, 1:]
    gained = -tf.nn.sparse_softmax_cross_entropy_with_logits(right, tf.cast(logits[:, :-1], tf.float32))
    return tf.reduce_sum(tf.where(right != 0, gained, 0.0), axis=1)
