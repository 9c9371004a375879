"""What a recipe is: the choices of one application, as data."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from seqattn_tf.training.data import Splits


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything about a training that a user may set (`--set units=128`)."""

    units: int = 240  # of each encoder direction, the decoder, the score and the readout
    embedding: int = 64  # of a symbol
    cell: str = "lstm"
    score: str = "additive"
    align: str = "softmax"
    dropout: float = 0.3  # on embeddings, encoder outputs and readout
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
        least = {"units": 1, "embedding": 1, "batch": 1, "epochs": 1, "patience": 1, "warmup": 0, "limit": 0}
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
            return name, kinds[name](value)
        except ValueError:
            raise ValueError(f"{name}: expected {kinds[name].__name__}. Received: {value!r}") from None


@dataclasses.dataclass(frozen=True)
class Recipe:
    """One application: its data, how its texts become symbols, its settings and its metric."""

    name: str
    summary: str
    load: Callable[[str | Path | None], Splits]
    source: Mapping[str, Any]  # arguments of `SymbolRules.learn`
    target: Mapping[str, Any]
    metric: Callable[[Mapping[str, str], Mapping[str, Sequence[str]]], dict[str, float]]
    monitor: str  # the metric that picks the best epoch; less is better
    settings: Settings  # full size
    small: Settings  # minutes on two cores, with a useful result
