"""Toy tasks over numbers: a reader learns a sum, a comparison or a parity, measured on longer sequences."""

import dataclasses
from collections.abc import Mapping, Sequence

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.models import Reader, ReaderNetwork
from seqattn_tf.text import SymbolRules
from seqattn_tf.training.data import Pair, Splits
from seqattn_tf.training.data.numbers import TASKS
from seqattn_tf.training.tasks.base import Report, Settings, Task

# What solves a task at every length: one number that is added to, or gates that flip a state.
ADDS = {"units": 1, "embedding": 4, "cell": "rnn", "activation": "linear"}
FLIPS = {"units": 16, "embedding": 8, "cell": "gru", "activation": "tanh"}


@dataclasses.dataclass(frozen=True)
class NumberSettings(Settings):
    """Settings of a reader of numbers."""

    cell: str = "auto"  # what solves the task: a linear rnn of one unit to add up, a gru of 16 for parity
    activation: str = "tanh"  # of a cell that is named; so are its units and its embedding
    dropout: float = 0.0
    task: str = "parity"  # or sum, compare
    longest: int = 10  # numbers of a training example, at most
    examples: int = 20_000
    max_source: int = 400  # numbers; a longer sequence is refused

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task not in TASKS:
            raise ValueError(f"task: expected one of {sorted(TASKS)}. Received: {self.task!r}")
        for name in ("examples", "longest", "max_source"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: expected at least 1. Received: {getattr(self, name)}")

    @property
    def shape(self) -> dict[str, object]:
        """Arguments of the network."""
        if self.cell == "auto":
            return FLIPS if self.task == "parity" else ADDS
        return {name: getattr(self, name) for name in ("units", "embedding", "cell", "activation")}


@dataclasses.dataclass(frozen=True)
class NumberTask(Task):
    """Training of a reader: of numbers where every target is one, else of labels.

    The best epoch is the one with the least loss on the development split, not the first whose answers are all right:
    an answer that is nearly right at twice the length is wrong at four times.
    """

    monitor: str = "loss"

    def build(self, settings: NumberSettings, splits: Splits) -> Reader:
        """Symbols and labels of the training pairs, and a network of their sizes."""
        rules = SymbolRules.learn((pair.source for pair in splits.train), split="spaces")
        labels = sorted({pair.target for pair in splits.train})
        labels = () if all(label.removeprefix("-").isdecimal() for label in labels) else labels
        network = ReaderNetwork(
            rules.size, len(labels), depth=settings.depth, dropout=settings.dropout, **settings.shape
        )
        return Reader(network, rules, labels, max_source=settings.max_source)

    def fitting(self, model: Reader, splits: Splits, settings: NumberSettings) -> list[Pair]:
        """All pairs, if the longest can be read."""
        longest = max(len(pair.source.split()) for part in (splits.train, splits.dev, splits.test) for pair in part)
        if longest > model.max_source:
            raise ValueError(f"data: expected at most {model.max_source} symbols (max_source). Received: {longest}")
        return list(splits.train[: settings.limit or None])

    def batches(self, model: Reader, pairs: Sequence[Pair], settings: NumberSettings, epoch: int) -> tf.data.Dataset:
        """All lengths in every batch: the short ones show the rule, the long ones hold it to it."""
        data = tf.data.Dataset.from_tensor_slices((_sources(model, pairs), _targets(model, pairs)))
        data = data.shuffle(len(pairs), seed=settings.seed + epoch)
        return data.batch(min(settings.batch, len(pairs)), drop_remainder=True).prefetch(4)

    def loss(self, settings: NumberSettings) -> keras.losses.Loss:
        """Squared error of numbers, cross-entropy of labels."""
        return keras.losses.MeanSquaredError() if settings.task == "sum" else _cross_entropy()

    def measure(
        self, model: Reader, pairs: Sequence[Pair], notes: Mapping[str, str] | None = None, quiet: bool = True
    ) -> Report:
        """How many answers are right, and the loss."""
        answers = model.answer([pair.source for pair in pairs])
        right = [answer.text == pair.target for answer, pair in zip(answers, pairs, strict=True)]
        loss = _cross_entropy() if model.labels else keras.losses.MeanSquaredError()
        outputs = model.network(_sources(model, pairs), training=False)
        return Report({"accuracy": float(np.mean(right)), "loss": float(loss(_targets(model, pairs), outputs))})


def _cross_entropy() -> keras.losses.Loss:
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def _sources(model: Reader, pairs: Sequence[Pair]) -> tf.Tensor:
    """Ids `[pairs, longest]`."""
    return model.source.encode(tf.constant([pair.source for pair in pairs]))


def _targets(model: Reader, pairs: Sequence[Pair]) -> np.ndarray:
    """Numbers, or the places of labels: `[pairs, 1]`."""
    if model.labels:
        return np.array([[model.labels.index(pair.target)] for pair in pairs], np.int32)
    return np.array([[float(pair.target)] for pair in pairs], np.float32)
