"""The network of captions: a decoder that looks at the parts of a picture."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention import HardAlignment
from seqattn_tf.attention.losses import Reinforce, alignment_loss, doubly_stochastic
from seqattn_tf.decoder.symbols import SymbolDecoder
from seqattn_tf.encoder import Encoder, SummaryEncoder
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.models.networks.encoder_decoder import EncoderDecoder
from seqattn_tf.outputs.symbols import SHIFTED

# What a decoder sees of a picture, by the name of its conditioning: its first state alone, its input at every step, the
# cells of the map by soft weights, or one cell that is drawn.
CONDITIONINGS = {"state": "state", "input": "input", "soft": "attention", "hard": "attention"}
REGIONS = "regions"  # the part of a picture that says, in training, where each word should look


@keras.saving.register_keras_serializable("seqattn_tf")
class CaptionNetwork(EncoderDecoder):
    """Show, Attend and Tell (Xu et al., 2015): an encoder of pictures and an attention decoder over words.

        loss = cross-entropy + penalty * mean_j (1 - sum_t alpha_tj)^2
                             + supervise * alignment_loss(alpha, regions)
                             + REINFORCE, where places are drawn (conditioning "hard")

    Args:
        encoder, decoder: as of an `EncoderDecoder`.
        penalty: how much every place is to be looked at once in all.
        supervise: how much words are to look where `INPUT_regions [batch, target, places]` says.
        entropy: how curious places are drawn.
        reward: how much what was drawn learns from the likelihood of the answer.

    >>> from seqattn_tf.encoder import GridEncoder
    >>> network = CaptionNetwork.of_pictures(GridEncoder("cnn", 32, 32, units=8), 40, units=8, embedding=4)
    >>> pixels = tf.zeros([2, 32, 32, 3])
    >>> network({"image_pixels": pixels, "shifted": tf.ones([2, 3], tf.int32)}).shape.as_list()
    [2, 3, 40]
    """

    def __init__(
        self,
        encoder: Encoder,
        decoder: SymbolDecoder,
        penalty: float = 0.0,
        supervise: float = 0.0,
        entropy: float = 0.01,
        reward: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(encoder, decoder, **kwargs)
        for name, value in (("penalty", penalty), ("supervise", supervise), ("entropy", entropy), ("reward", reward)):
            if not value >= 0:
                raise ValueError(f"{name}: expected a number of at least 0. Received: {value}")
        if (penalty or supervise) and not encoder.looked_at:
            raise ValueError("penalty, supervise: expected 0 where nothing is looked at. Received: some")
        self.penalty, self.supervise, self.entropy, self.reward = penalty, supervise, entropy, reward
        align = getattr(decoder.attention, "align", None)
        draws = isinstance(align, HardAlignment) and align.estimator == "reinforce"
        self.reinforce = Reinforce(entropy=entropy) if draws else None

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
        expected: float = 0.5,
        dropout: float = 0.0,
        embedding_dropout: float | None = None,
        dtype: Any = None,
        **losses: Any,
    ) -> "CaptionNetwork":
        """All parts by their names and of one size.

        Args:
            encoder: what reads the picture.
            vocabulary: number of words.
            conditioning: what the decoder sees: `"state"`, the mean of the map in its first state; `"input"`, that at
                every step; `"soft"` or `"hard"`, the cells of the map by attention. Both also begin from the mean.
            units: of the decoder, of the score and of the readout.
            embedding: size of a word's embedding.
            cell: name of the recurrent cell.
            gate: whether the state also says how much of what was looked at is read.
            expected: how often hard attention reads the mean of all places, in training, and not one that is drawn.
            dropout: rate on embeddings and readout, in training.
            embedding_dropout: rate on embeddings, where it is another; None: as `dropout`.
            dtype: of all parts.
            **losses: `penalty`, `supervise`, `entropy`, `reward`.
        """
        if conditioning not in CONDITIONINGS:
            raise ValueError(f"conditioning: expected one of {sorted(CONDITIONINGS)}. Received: {conditioning!r}")
        hard = conditioning == "hard"
        align = HardAlignment("reinforce", expected=expected, dtype=dtype) if hard else "softmax"
        sizes: dict[str, Any] = {"units": units, "embedding": embedding, "cell": cell, "dropout": dropout}
        sizes["embedding_dropout"] = embedding_dropout
        sees: dict[str, Any] = {"align": align, "gate": gate, "context": CONDITIONINGS[conditioning]}
        return cls.of_encoder(encoder, vocabulary, **sizes, **sees, dtype=dtype, **losses)

    @property
    def pictures(self) -> Any:
        """What reads pictures, whatever the decoder sees of it."""
        return self.encoder.encoder if isinstance(self.encoder, SummaryEncoder) else self.encoder

    def build(self, input_shape: Any = None) -> None:
        """Build both, and the baseline of what is drawn."""
        if self.reinforce is not None and not self.reinforce.built:
            self.reinforce.build()
        super().build(input_shape)

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """Teacher-forced logits; in training, what else is to be learned beside them."""
        if not training:
            return super().call(tensors, training=False)
        read, said = self.encoder(tensors, training=True), tensors[SHIFTED]
        found = self.decoder.run(said, read.values, mask=read.mask, summary=read.summary, training=True)
        logits, weights, last = found
        steps = said != 0
        if self.penalty:
            lacking = doubly_stochastic(weights, read.mask, steps) / tf.cast(tf.shape(weights)[2], tf.float32)
            self.add_loss(self.penalty * tf.reduce_mean(lacking))
        if self.supervise:
            regions = tensors[f"{self.encoder.reads}_{REGIONS}"]
            self.add_loss(self.supervise * tf.reduce_mean(alignment_loss(weights, regions)))
        if self.reinforce is not None:
            _, (log_prob, entropy) = last.attention
            drawn = self.reinforce(answer_likelihood(logits, said), log_prob, entropy, training=True)
            self.add_loss(self.reward * drawn / tf.reduce_mean(tf.reduce_sum(tf.cast(steps, tf.float32), axis=1)))
        return logits

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        own = {name: getattr(self, name) for name in ("penalty", "supervise", "entropy", "reward")}
        return {**super().get_config(), **own}


def answer_likelihood(logits: tf.Tensor, shifted: tf.Tensor) -> tf.Tensor:
    """Log-likelihood of the symbols that come next, `[batch]`: of `[batch, target]` symbols, all but the first."""
    right = shifted[:, 1:]
    gained = -tf.nn.sparse_softmax_cross_entropy_with_logits(right, tf.cast(logits[:, :-1], tf.float32))
    return tf.reduce_sum(tf.where(right != 0, gained, 0.0), axis=1)
