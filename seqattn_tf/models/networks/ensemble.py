"""Several networks combined by the mean of their probabilities at every step."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.decoders.base import DecoderMemory, DecoderState
from seqattn_tf.decoders.symbols import Stepper, SymbolDecoder
from seqattn_tf.decoding import greedy
from seqattn_tf.encoders import Encoder, EncoderOutput
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.lite.text.rules import BEGIN, END
from seqattn_tf.models.networks.encoder_decoder import EncoderDecoder


def log_mean(logits: Sequence[tf.Tensor]) -> tf.Tensor:
    """Return the logarithm of the mean of the probabilities given by several logits, all `[..., size]`.

    >>> tf.exp(log_mean([tf.zeros([1, 2]), tf.math.log([[0.1, 0.9]])])).numpy().round(1).tolist()
    [[0.30000001192092896, 0.699999988079071]]
    """
    each = tf.stack([tf.nn.log_softmax(tf.cast(one, tf.float32)) for one in logits])
    most = tf.reduce_max(each, axis=0)
    return most + tf.math.log(tf.reduce_sum(tf.exp(each - most), axis=0)) - math.log(len(logits))


@keras.saving.register_keras_serializable("seqattn_tf")
class Networks(keras.Model):
    """Several networks as one that returns the logarithm of their mean probabilities.

        log p(y) = log mean_m softmax(logits_m)_y

    Args:
        members: The networks, with the same inputs and outputs.

    >>> from seqattn_tf.encoders import ForwardEncoder
    >>> from seqattn_tf.models import ClassifierNetwork
    >>> networks = Networks([ClassifierNetwork(ForwardEncoder(30, units=units), outputs=2) for units in (4, 6)])
    >>> networks({"text_ids": tf.ones([3, 5], tf.int32)}).shape.as_list()
    [3, 2]
    """

    lists: ClassVar[Sequence[str]] = ("members",)  # the constructor arguments that are lists of networks

    def __init__(self, members: Sequence[keras.Model], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.members = list(members)

    def build(self, input_shape: Any = None) -> None:
        for network in (network for name in self.lists for network in getattr(self, name)):
            if not network.built:
                network.build()
        self.built = True

    def build_from_config(self, config: dict[str, Any]) -> None:
        if not self.built:
            self.build()

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        return log_mean([member(tensors, training=training) for member in self.members])

    def get_config(self) -> dict[str, Any]:
        parts = {name: [keras.saving.serialize_keras_object(one) for one in getattr(self, name)] for name in self.lists}
        return {**super().get_config(), **parts}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> "Networks":
        parts = {name: [keras.saving.deserialize_keras_object(one) for one in config[name]] for name in cls.lists}
        return cls(**{**config, **parts})


class _Memories(NamedTuple):
    """The memories of all decoders."""

    each: tuple[DecoderMemory, ...]

    @property
    def mask(self) -> tf.Tensor:
        """The mask shared by all memories, `[batch, source]`."""
        return self.each[0].mask


class _Encoders:
    """Several encoders as one that returns tuples of values, masks and summaries, without attention maps or trees."""

    self_attention_maps: Sequence[str] = ()
    gives_trees = False

    def __init__(self, each: Sequence[Encoder]) -> None:
        self.each = each
        self.input_name, self.attendable = each[0].input_name, each[0].attendable
        self.input_lengths, self.to_positions = each[0].input_lengths, each[0].to_positions

    def __call__(self, tensors: Tensors, training: bool = False) -> EncoderOutput:
        found = [encoder(tensors, training=training) for encoder in self.each]
        values, masks, summaries = zip(*((read.values, read.mask, read.summary) for read in found), strict=True)
        return EncoderOutput(values, masks, summaries)


class _Decoders:
    """Several decoders as one."""

    def __init__(self, each: Sequence[SymbolDecoder]) -> None:
        self.each = each

    def begin(
        self, values: Sequence[tf.Tensor], mask: Sequence[tf.Tensor], summary: Sequence[tf.Tensor]
    ) -> tuple[_Memories, tuple[DecoderState, ...]]:
        """Return the memories and the initial states of all decoders."""
        read = zip(self.each, values, mask, summary, strict=True)
        memories, states = zip(*(decoder.begin(*one) for decoder, *one in read), strict=True)
        return _Memories(memories), states

    def stepper(self) -> "_Steppers":
        """Return the combined step function of all decoders."""
        return _Steppers([decoder.stepper() for decoder in self.each])


class _Steppers:
    """One step of several decoders: the logarithm of their mean probabilities, their mean weights and their states."""

    def __init__(self, each: Sequence[Stepper]) -> None:
        self.each = each

    def for_beams(self, beams: int) -> "_Steppers | None":
        """Return a step in which `beams` state rows share one memory row, or None if a decoder has no such step."""
        shared = [one for step in self.each if (one := step.for_beams(beams)) is not None]
        return _Steppers(shared) if len(shared) == len(self.each) else None

    def __call__(
        self, tokens: tf.Tensor, state: tuple[DecoderState, ...], memory: _Memories
    ) -> tuple[tf.Tensor, tf.Tensor, tuple[DecoderState, ...]]:
        own = zip(self.each, state, memory.each, strict=True)
        logits, weights, states = zip(*(step(tokens, before, look) for step, before, look in own), strict=True)
        mean = tf.reduce_mean(tf.stack([tf.cast(one, tf.float32) for one in weights]), axis=0)
        return log_mean(logits), mean, states


def _places(encoder: Encoder) -> tuple[Any, ...]:
    """Return a key that is equal for encoders whose values are at the same positions."""
    plain = encoder.attendable and encoder.one_per_token and not encoder.level
    return encoder.input_name, "one each" if plain else type(encoder).__name__


@keras.saving.register_keras_serializable("seqattn_tf")
class EnsembleNetwork(Networks):
    """Encoder-decoders whose probabilities are averaged at every step, with the interface of a single `EncoderDecoder`.

    Args:
        members: The networks that generate answers.
        rescorers: Networks that generate in the opposite direction, used to rescore the answers that were found.

    Call arguments: as for an `EncoderDecoder`; returns the logarithms of the members' mean probabilities
    `[batch, target, vocabulary]`.

    >>> network = EnsembleNetwork([EncoderDecoder.of_symbols(30, 40, units=units) for units in (4, 6)])
    >>> network({"text_ids": tf.ones([2, 5], tf.int32), "shifted": tf.ones([2, 3], tf.int32)}).shape.as_list()
    [2, 3, 40]
    """

    lists = ("members", "rescorers")

    def __init__(
        self, members: Sequence[EncoderDecoder], rescorers: Sequence[EncoderDecoder] = (), **kwargs: Any
    ) -> None:
        super().__init__(members, **kwargs)
        self.rescorers = list(rescorers)
        networks = [*members, *rescorers]
        if not members or not all(isinstance(network, EncoderDecoder) for network in networks):
            raise ValueError(f"members: expected encoder-decoders, one or more. Received: {networks!r:.80}")
        for what, found in (
            ("symbols", [network.decoder.vocabulary for network in networks]),
            ("source positions", [_places(network.encoder) for network in members]),
        ):
            if len(set(found)) > 1:
                raise ValueError(f"members: expected networks with the same {what}. Received: {found}")

    @property
    def encoder(self) -> _Encoders:
        """The encoders of the members."""
        return _Encoders([member.encoder for member in self.members])

    @property
    def decoder(self) -> _Decoders:
        """The decoders of the members."""
        return _Decoders([member.decoder for member in self.members])

    def rescore(self, tensors: Tensors, right: tf.Tensor) -> tf.Tensor:
        """Return the log-probabilities of answers under the rescorers: `[batch, answers, time] -> [batch, answers]`.

        The answers, including their end symbols, are given as the prefix of a greedy search.
        """
        batch, answers, time = tf.unstack(tf.shape(right))
        encoder = _Encoders([network.encoder for network in self.rescorers])
        decoder = _Decoders([network.decoder for network in self.rescorers])
        begun = decoder.begin(*encoder(tensors)[:3])
        memory, state = tf.nest.map_structure(lambda one: tf.repeat(one, answers, axis=0), begun)
        limits = {"begin": BEGIN, "end": END, "max_length": right.shape[2]}
        said = greedy(decoder.stepper(), state, memory, **limits, prefix=tf.reshape(right, [batch * answers, time]))
        return tf.reshape(said.scores, [batch, answers])
