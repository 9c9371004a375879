"""Ensembles of models that say labels, whatever they read."""

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
    """Several models that say labels as one: the mean of the probabilities that they find, and of where they look.

    Args:
        network: their networks.
        inputs: what goes into each of them.
        target: the labels.
        systems: what the model of each network is: its `system`, by the name of its kind, and its `settings`.

    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.models import Reader, ReaderNetwork
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> bits = SymbolRules(("0", "1"), split="spaces")
    >>> says = Label(("even", "odd"))
    >>> readers = [Reader(ReaderNetwork(bits.size, outputs=2, units=4), {"text": Text(bits)}, says) for _ in range(2)]
    >>> LabelEnsemble.of(readers).answer(["1 0 1"])[0].text in ("even", "odd")
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
        """Models of the same inputs, labels and looks as one, with networks that stay theirs.

        Raises:
            ValueError: models that have not enough in common, or find more than labels; any settings.
        """
        check_alike(models)
        if settings:
            raise ValueError(f"settings: expected none for models that say labels. Received: {sorted(settings)}")
        target = models[0].target
        if not isinstance(target, Label):
            raise ValueError(f"models: expected those that say labels. Received: {target.name_in_registry}")
        for place, model in enumerate(models):
            if model.parts:
                what = f"{list(model.parts)} of models[{place}]"
                raise ValueError(f"models: expected those that find labels and nothing besides. Received: {what}")
            if dict(model.looks) != dict(models[0].looks):
                raise ValueError(f"models: expected the same looks in all. Received: others in models[{place}]")
        network = Networks([model.network for model in models])
        return cls(network, models[0].inputs, target, systems=_systems(models))

    @property
    def systems(self) -> list[dict[str, Any]]:
        """What each model is."""
        return _systems(self.models)

    @property
    def looks(self) -> Mapping[str, str | Sequence[str]]:
        """Those that all of them have."""
        return self.models[0].looks

    @property
    def looked_at(self) -> Mapping[str, str]:
        """The same."""
        return self.models[0].looked_at

    @property
    def explaining(self) -> Sequence[str]:
        """The same."""
        return self.models[0].explaining

    @property
    def plugins(self) -> dict[str, str]:
        """Also those that the models are made of."""
        return {**super().plugins, **{name: file for model in self.models for name, file in model.plugins.items()}}

    def infer(self, tensors: Tensors) -> Tensors:
        """All labels by their mean probability; a row with nothing to read gets nothing."""
        found = [model.infer(tensors) for model in self.models]
        read = found[0]["scores"][:, 0] > LOWEST
        looks = {look + ATTENTION: [one[look + ATTENTION] for one in found] for look in self.looks}
        means = {name: tf.reduce_mean(tf.stack(each), axis=0) for name, each in looks.items()}
        return only_where(read, {**self.says.decide(log_mean([_by_label(one) for one in found])), **means})


def _systems(models: Sequence[Model]) -> list[dict[str, Any]]:
    return [{"system": model.name_in_registry, "settings": model.settings} for model in models]


def _by_label(found: Tensors) -> tf.Tensor:
    """Log-probabilities in the order of the labels: `[batch, labels]`."""
    _, order = tf.math.top_k(-found["labels"], found["labels"].shape[1])
    return tf.gather(found["scores"], order, batch_dims=1)
