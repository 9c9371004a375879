"""What several models need to be one: the mean of their probabilities, their networks as one, what they share."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import keras
import tensorflow as tf

from seqattn_tf.models.base import Model, Tensors


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


def check_alike(models: Sequence[Model]) -> None:
    """Refuse models without the same inputs and the same target, directions of symbols apart."""
    if not models:
        raise ValueError("models: expected at least one. Received: none")
    shared = [_made_of(model) for model in models]
    for place, other in enumerate(shared):
        if differing := sorted(name for name in {**shared[0], **other} if shared[0].get(name) != other.get(name)):
            raise ValueError(f"models: expected the same {differing[0]} in all. Received: another in models[{place}]")


def _made_of(model: Model) -> dict[str, Any]:
    """What models have in common that are one, by what it is called."""
    inputs = {f"input {name!r}": (field.name_in_registry, field.get_config()) for name, field in model.inputs.items()}
    target = {f"{name} of the target": value for name, value in model.target.get_config().items()}
    target.pop("direction of the target", None)
    return {**inputs, "kind of target": model.target.name_in_registry, **target}
