"""What all kinds of trainings share: their settings, and the contract of a task."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.models import Model
from seqattn_tf.text import SymbolRules
from seqattn_tf.training.data import Pair, Splits

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything about a training that a user may set (`--set units=128`); a task adds what is its own."""

    units: int = 240  # of each direction and each layer
    embedding: int = 64  # of a symbol
    cell: str = "lstm"
    depth: int = 1  # layers of the encoder, or of the only network
    dropout: float = 0.3  # on embeddings, outputs and readout
    label_smoothing: float = 0.1
    batch: int = 256  # pairs in a step
    epochs: int = 60
    rate: float = 2e-3  # Adam's, at its peak: a linear warm-up before it, a cosine to zero after it
    warmup: int = 800  # steps
    clip: float = 1.0  # of the global norm of the gradient
    patience: int = 10  # epochs without a better score on the development split before training stops
    seed: int = 0
    limit: int = 0  # at most so many training pairs; 0 for all

    def __post_init__(self) -> None:
        least = {
            "units": 1,
            "embedding": 1,
            "depth": 1,
            "batch": 1,
            "epochs": 1,
            "patience": 1,
            "warmup": 0,
            "limit": 0,
        }
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise ValueError(f"{name}: expected at least {bound}. Received: {getattr(self, name)}")
        for name in ("dropout", "label_smoothing"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}: expected a share from 0 to below 1. Received: {getattr(self, name)}")

    def changed(self, assignments: Sequence[str]) -> "Settings":
        """These settings with `name=value` assignments applied.

        >>> Settings().changed(["units=128", "dropout=0"]).units
        128
        """
        return dataclasses.replace(self, **dict(self._parse(text) for text in assignments))

    def _parse(self, text: str) -> tuple[str, Any]:
        name, equals, value = text.partition("=")
        kinds = {field.name: type(getattr(self, field.name)) for field in dataclasses.fields(self)}
        if not equals or name not in kinds:
            raise ValueError(f"setting: expected NAME=VALUE with a name among {sorted(kinds)}. Received: {text!r}")
        try:
            return name, _TRUTH[value.lower()] if kinds[name] is bool else kinds[name](value)
        except (ValueError, KeyError):
            raise ValueError(f"{name}: expected {kinds[name].__name__}. Received: {value!r}") from None


def folded(choice: str) -> bool | str:
    """The `fold` of `SymbolRules` that a setting names."""
    choices = {"": False, "case": "case", "all": True}
    if choice not in choices:
        raise ValueError(f"fold: expected one of {sorted(choices)}. Received: {choice!r}")
    return choices[choice]


def refuse_few(rules: SymbolRules, name: str) -> None:
    """A vocabulary with nothing to choose from is a mistake in the data."""
    if len(rules.symbols) < 2:
        raise ValueError(f"{name}: expected at least two symbols. Received: {rules.symbols}")


@dataclasses.dataclass(frozen=True)
class Report:
    """How good a model is: figures by name, and figures of groups, `(label, count, value)` each, by title."""

    figures: Mapping[str, float]
    groups: Mapping[str, Sequence[tuple[str, int, float]]] = dataclasses.field(default_factory=dict)


class Task:
    """A kind of training: one for each kind of model.

    Args:
        monitor: the figure that picks the best epoch.
        rising: whether more of it is better.
        ordered: whether the batches of one epoch go on where those of the last ended.
    """

    monitor: str
    rising: bool = False
    ordered: bool = False

    def build(self, settings: Settings, splits: Splits) -> Model:
        """An untrained model for these data."""
        raise NotImplementedError

    def fitting(self, model: Model, splits: Splits, settings: Settings) -> list[Pair]:
        """The training pairs that the model can take; data it could not be measured on is refused."""
        raise NotImplementedError

    def batches(self, model: Model, pairs: Sequence[Pair], settings: Settings, epoch: int) -> tf.data.Dataset:
        """What `fit` reads from this epoch on."""
        raise NotImplementedError

    def steps(self, model: Model, pairs: Sequence[Pair], settings: Settings) -> int:
        """Steps of an epoch."""
        return max(len(pairs) // settings.batch, 1)

    def loss(self, settings: Settings) -> keras.losses.Loss:
        """What is minimised."""
        raise NotImplementedError

    def quick(self, model: Model) -> Model:
        """The model as it is measured after every epoch: by less search, where there is any."""
        return model

    def measure(
        self, model: Model, pairs: Sequence[Pair], notes: Mapping[str, str] | None = None, quiet: bool = True
    ) -> Report:
        """How good the model is on some pairs; `notes` say of what kind a source is, where that is known."""
        raise NotImplementedError

    def beside(self, model: Model, train: Sequence[Pair], pairs: Sequence[Pair]) -> dict[str, float]:
        """Figures of something simpler that learned from `train`, on the same pairs, to put beside the model's."""
        return {}
