"""Ensembles of models that predict labels, with any inputs."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from seqattn_tf.decoding.rules import LOWEST
from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Label
from seqattn_tf.models.base import Model, Tensors, only_where
from seqattn_tf.models.ensemble import check_alike
from seqattn_tf.models.networks.ensemble import Networks, log_mean


class LabelEnsemble(Model):
    """Several models that predict labels, combined by the mean of their probabilities and of their attention weights.

    Args:
        network: The networks of the models.
        inputs: The input fields, which all models share.
        target: The labels.
        systems: The configuration of each network's model: `system`, the name of its class in the registry, and
            `settings`.

    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.encoders import ForwardEncoder
    >>> from seqattn_tf.models import Classifier, ClassifierNetwork
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> bits = SymbolRules(("0", "1"), tokenizer="spaces")
    >>> says = Label(("even", "odd"))
    >>> networks = [ClassifierNetwork(ForwardEncoder(bits.size, units=4), outputs=2) for _ in range(2)]
    >>> classifiers = [Classifier(network, {"text": Text(bits)}, says) for network in networks]
    >>> LabelEnsemble.of(classifiers).answer(["1 0 1"])[0].text in ("even", "odd")
    True
    """

    name_in_registry = "label_ensemble"
    target: Label
    network: Networks

    def __init__(
        self,
        network: Networks,
        inputs: Mapping[str, Field],
        target: Label,
        *,
        systems: Sequence[Mapping[str, Any]],
    ) -> None:
        made = zip(network.members, systems, strict=True)
        self.models = [Model.member(one["system"])(each, inputs, target, **one["settings"]) for each, one in made]
        super().__init__(network, inputs, target)

    @classmethod
    def of(cls, models: Sequence[Model], **settings: Any) -> "LabelEnsemble":
        """Combine models with the same inputs, labels and attention maps into an ensemble that shares their networks.

        Raises:
            ValueError: If the models cannot be combined or have outputs besides labels, or if any settings are given.
        """
        check_alike(models)
        if settings:
            raise ValueError(f"settings: expected none for models that predict labels. Received: {sorted(settings)}")
        target = models[0].target
        if not isinstance(target, Label):
            raise ValueError(f"models: expected models that predict labels. Received: {target.name_in_registry}")
        for place, model in enumerate(models):
            if model.extra_outputs:
                what = f"{list(model.extra_outputs)} of models[{place}]"
                raise ValueError(f"models: expected models without extra outputs. Received: {what}")
            if dict(model.attention_maps) != dict(models[0].attention_maps):
                raise ValueError(
                    "models: expected the same attention maps in all models. "
                    f"Received: different ones in models[{place}]"
                )
        network = Networks([model.network for model in models])
        return cls(network, models[0].inputs, target, systems=_systems(models))

    @property
    def systems(self) -> list[dict[str, Any]]:
        """The configuration of each model."""
        return _systems(self.models)

    @property
    def attention_maps(self) -> Mapping[str, str | Sequence[str]]:
        return self.models[0].attention_maps

    @property
    def attention_sources(self) -> Mapping[str, str]:
        return self.models[0].attention_sources

    @property
    def explanatory_maps(self) -> Sequence[str]:
        return self.models[0].explanatory_maps

    @property
    def plugins(self) -> dict[str, str]:
        """The modules from outside the package that the ensemble and its models depend on."""
        return {**super().plugins, **{name: file for model in self.models for name, file in model.plugins.items()}}

    def infer(self, tensors: Tensors) -> Tensors:
        """Rank all labels by their mean probability; a row with nothing to read gets an empty answer."""
        found = [model.infer(tensors) for model in self.models]
        read = found[0]["scores"][:, 0] > LOWEST
        looks = {look + ATTENTION: [one[look + ATTENTION] for one in found] for look in self.attention_maps}
        means = {name: tf.reduce_mean(tf.stack(each), axis=0) for name, each in looks.items()}
        return only_where(read, {**self.graph_target.decode(log_mean([_by_label(one) for one in found])), **means})


def _systems(models: Sequence[Model]) -> list[dict[str, Any]]:
    return [{"system": model.name_in_registry, "settings": model.settings} for model in models]


def _by_label(found: Tensors) -> tf.Tensor:
    """Return the log-probabilities in the order of the labels: `[batch, labels]`."""
    _, order = tf.math.top_k(-found["labels"], found["labels"].shape[1])
    return tf.gather(found["scores"], order, batch_dims=1)
