"""Several networks as one: the mean of their probabilities at every step."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.decoder.base import DecoderMemory, DecoderState
from seqattn_tf.decoder.symbols import Stepper, SymbolDecoder
from seqattn_tf.decoding import greedy
from seqattn_tf.encoder import Encoder, Read
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.lite.text.rules import BEGIN, END
from seqattn_tf.models.networks.encoder_decoder import EncoderDecoder


def log_mean(logits: Sequence[tf.Tensor]) -> tf.Tensor:
    """The logarithm of the mean of the probabilities that each of several logits gives, all `[..., size]`.

    >>> tf.exp(log_mean([tf.zeros([1, 2]), tf.math.log([[0.1, 0.9]])])).numpy().round(1).tolist()
    [[0.30000001192092896, 0.699999988079071]]
    """
    each = tf.stack([tf.nn.log_softmax(tf.cast(one, tf.float32)) for one in logits])
    most = tf.reduce_max(each, axis=0)
    return most + tf.math.log(tf.reduce_sum(tf.exp(each - most), axis=0)) - math.log(len(logits))


@keras.saving.register_keras_serializable("seqattn_tf")
class Networks(keras.Model):
    """Networks as one that gives the logarithm of the mean of their probabilities.

        log p(y) = log mean_m softmax(logits_m)_y

    Args:
        members: the networks, of the same inputs and outputs.

    >>> from seqattn_tf.models import ReaderNetwork
    >>> networks = Networks([ReaderNetwork(30, outputs=2, units=units) for units in (4, 6)])
    >>> networks({"text_ids": tf.ones([3, 5], tf.int32)}).shape.as_list()
    [3, 2]
    """

    lists: ClassVar[Sequence[str]] = ("members",)  # the arguments that are lists of networks

    def __init__(self, members: Sequence[keras.Model], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.members = list(members)

    def build(self, input_shape: Any = None) -> None:
        """Build all."""
        for network in (network for name in self.lists for network in getattr(self, name)):
            if not network.built:
                network.build()
        self.built = True

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Build all: no shape that was seen is needed."""
        if not self.built:
            self.build()

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """The logarithms of the members' mean probabilities."""
        return log_mean([member(tensors, training=training) for member in self.members])

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        parts = {name: [keras.saving.serialize_keras_object(one) for one in getattr(self, name)] for name in self.lists}
        return {**super().get_config(), **parts}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> "Networks":
        """Rebuild all."""
        parts = {name: [keras.saving.deserialize_keras_object(one) for one in config[name]] for name in cls.lists}
        return cls(**{**config, **parts})


class _Memories(NamedTuple):
    """What each decoder looks at."""

    each: tuple[DecoderMemory, ...]

    @property
    def mask(self) -> tf.Tensor:
        """The same for all of them, `[batch, source]`."""
        return self.each[0].mask


class _Encoders:
    """Several encoders as one, whose values, masks and summaries are tuples; what is found within them is not told."""

    looks_within: Sequence[str] = ()
    finds_trees = False

    def __init__(self, each: Sequence[Encoder]) -> None:
        self.each = each
        self.reads, self.looked_at = each[0].reads, each[0].looked_at
        self.places_read, self.at_places = each[0].places_read, each[0].at_places

    def __call__(self, tensors: Tensors, training: bool = False) -> Read:
        """What each of them read."""
        found = [encoder(tensors, training=training) for encoder in self.each]
        values, masks, summaries = zip(*((read.values, read.mask, read.summary) for read in found), strict=True)
        return Read(values, masks, summaries)


class _Decoders:
    """Several decoders as one."""

    def __init__(self, each: Sequence[SymbolDecoder]) -> None:
        self.each = each

    def begin(
        self, values: Sequence[tf.Tensor], mask: Sequence[tf.Tensor], summary: Sequence[tf.Tensor]
    ) -> tuple[_Memories, tuple[DecoderState, ...]]:
        """The memory and the first state of each."""
        read = zip(self.each, values, mask, summary, strict=True)
        memories, states = zip(*(decoder.begin(*one) for decoder, *one in read), strict=True)
        return _Memories(memories), states

    def stepper(self) -> "_Steppers":
        """The step of all of them."""
        return _Steppers([decoder.stepper() for decoder in self.each])


class _Steppers:
    """One step of several decoders: the logarithm of their mean probabilities, their mean weights, their states."""

    def __init__(self, each: Sequence[Stepper]) -> None:
        self.each = each

    def for_beams(self, beams: int) -> "_Steppers | None":
        """A step for so many rows of the states to one of the memories; None if one of them has none."""
        shared = [one for step in self.each if (one := step.for_beams(beams)) is not None]
        return _Steppers(shared) if len(shared) == len(self.each) else None

    def __call__(
        self, tokens: tf.Tensor, state: tuple[DecoderState, ...], memory: _Memories
    ) -> tuple[tf.Tensor, tf.Tensor, tuple[DecoderState, ...]]:
        """One step."""
        own = zip(self.each, state, memory.each, strict=True)
        logits, weights, states = zip(*(step(tokens, before, look) for step, before, look in own), strict=True)
        mean = tf.reduce_mean(tf.stack([tf.cast(one, tf.float32) for one in weights]), axis=0)
        return log_mean(logits), mean, states


def _places(encoder: Encoder) -> tuple[Any, ...]:
    """What encoders have in common whose values are of the same places."""
    plain = encoder.looked_at and encoder.one_each and not encoder.level
    return encoder.reads, "one each" if plain else type(encoder).__name__


@keras.saving.register_keras_serializable("seqattn_tf")
class EnsembleNetwork(Networks):
    """Encoder-decoders whose probabilities are averaged at every step, with an `encoder` and a `decoder` like one.

    Args:
        members: the networks that say answers.
        rescorers: networks that say them the other way round, by which answers that were found are scored again.

    Call arguments: as of an `EncoderDecoder`; returns logarithms of the members' mean probabilities
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
            ("places to look at", [_places(network.encoder) for network in members]),
        ):
            if len(set(found)) > 1:
                raise ValueError(f"members: expected networks with the same {what}. Received: {found}")

    @property
    def encoder(self) -> _Encoders:
        """Those of the members."""
        return _Encoders([member.encoder for member in self.members])

    @property
    def decoder(self) -> _Decoders:
        """Those of the members."""
        return _Decoders([member.decoder for member in self.members])

    def rescore(self, tensors: Tensors, right: tf.Tensor) -> tf.Tensor:
        """Log-probability of answers as the rescorers say them: `[batch, answers, time] -> [batch, answers]`.

        The answers, ends included, are what a greedy search is made to begin with.
        """
        batch, answers, time = tf.unstack(tf.shape(right))
        encoder = _Encoders([network.encoder for network in self.rescorers])
        decoder = _Decoders([network.decoder for network in self.rescorers])
        begun = decoder.begin(*encoder(tensors)[:3])
        memory, state = tf.nest.map_structure(lambda one: tf.repeat(one, answers, axis=0), begun)
        limits = {"begin": BEGIN, "end": END, "max_length": right.shape[2]}
        said = greedy(decoder.stepper(), state, memory, **limits, prefix=tf.reshape(right, [batch * answers, time]))
        return tf.reshape(said.scores, [batch, answers])
