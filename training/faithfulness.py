"""Faithfulness of attention: how much less probable an answer becomes without the most attended inputs."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.targets import Label
from seqattn_tf.models import Model
from seqattn_tf.models.base import Tensors
from seqattn_tf.training.data import Example
from seqattn_tf.training.tasks.base import refuse_unreadable

_DRAWS = 5  # random choices to average over
_LINES = "_lines"


@dataclasses.dataclass(frozen=True)
class Faithfulness:
    """The effect of erasing inputs on the answers, by the method that selects what is erased.

    Attributes:
        erased: What was erased: words or lines.
        probability: The mean probability of the answers without erasure.
        drops: `(how many were erased, number of rows, mean drop of the probability)` by the method of selection.
    """

    erased: str
    probability: float
    drops: Mapping[str, Sequence[tuple[str, int, float]]]


@dataclasses.dataclass(frozen=True)
class _Looked:
    """An input that a model attends to, the name of the attention, and whether lines are erased rather than words."""

    name: str
    look: str
    by_lines: bool

    def units(self, model: Model, tensors: Tensors) -> np.ndarray:
        """Return the index of the word or line of each symbol, `[batch, source]`, or -1 for none."""
        ids = tensors[f"{self.name}_ids"].numpy()
        places = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
        if not self.by_lines:
            return np.where(ids != 0, places, -1)
        encoder = model.network.encoder
        marks = ids == encoder.mark
        line, count = np.cumsum(marks, axis=1), marks.sum(axis=1, keepdims=True) + 1
        # The encoder reads only the last `max_lines` lines.
        return np.where((ids != 0) & ~marks & (line >= count - encoder.max_lines), line, -1)


def _looked(model: Model) -> list[_Looked]:
    if not isinstance(model.target, Label):
        raise ValueError(f"faithfulness: expected a model that predicts a label. Received: {model.name_in_registry}")
    found: dict[str, _Looked] = {}
    for look in model.explanatory_maps:
        name = look.removesuffix(_LINES) if look not in model.inputs else look
        text = isinstance(model.inputs.get(name), Text)
        if text and not (name in found and look == name):  # prefers lines over words
            found[name] = _Looked(name, look, look != name)
    if not found:
        raise ValueError("faithfulness: expected a model with attention over a text (pool=attention). Received: none")
    return list(found.values())


def _shares(weights: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Return how much each unit is attended to, 1 on average per text: `[batch, rows, units] -> [batch, units]`.

    Without this normalization, if two texts attend to each other, the words of the shorter one would all rank higher.

    >>> _shares(np.array([[[0.2, 0.2, 0.6], [0, 0.4, 0.6]]]), np.array([[True, True, True]])).round(2).tolist()
    [[0.3, 0.9, 1.8]]
    """
    summed = weights.sum(axis=1)[:, : there.shape[1]] * there
    return summed * there.sum(axis=1, keepdims=True) / np.maximum(summed.sum(axis=1, keepdims=True), 1e-9)


def _most(importance: np.ndarray, count: int) -> np.ndarray:
    """Return a mask of the `count` largest values of each row, `[rows, units]`."""
    chosen = np.zeros(importance.shape, bool)
    np.put_along_axis(chosen, np.argsort(-importance, axis=1, kind="stable")[:, :count], True, axis=1)
    return chosen


class _Batch:
    """A batch of answered rows, from which units can be erased."""

    def __init__(self, model: Model, looked: Sequence[_Looked], rows: Sequence[Mapping[str, Any]], infer: Any) -> None:
        self.looked, self.infer = looked, infer
        raw = {name: [field.raw(row[name]) for row in rows] for name, field in model.inputs.items()}
        self.tensors, _ = model.read({name: tf.constant(values) for name, values in raw.items()})
        self.sources = [one.units(model, self.tensors) for one in looked]
        sizes = [source.max(initial=-1) + 1 for source in self.sources]
        self.ends = np.cumsum(sizes)[:-1]
        there = [
            (source[:, :, None] == np.arange(n)).any(axis=1) for source, n in zip(self.sources, sizes, strict=True)
        ]
        self.there = np.concatenate(there, axis=1)
        kept = self._kept(np.zeros_like(self.there))
        with tf.GradientTape() as tape:
            tape.watch(kept)
            found = infer({**self.tensors, **kept})
            before = tf.exp(found["scores"][:, 0])
        gradients = tape.gradient(before, list(kept.values()))
        if any(gradient is None for gradient in gradients):
            raise ValueError(
                "faithfulness: expected an encoder that supports token weights. "
                "Received: an encoder without this support"
            )
        self.label, self.before = found["labels"][:, :1], before.numpy()
        shares = [_shares(found[one.look + ATTENTION].numpy(), t) for one, t in zip(looked, there, strict=True)]
        steep = [
            (gradient.numpy()[:, :, None] * (source[:, :, None] == np.arange(n))).sum(axis=1)
            for source, gradient, n in zip(self.sources, gradients, sizes, strict=True)
        ]
        self.importance = {"attention": np.concatenate(shares, axis=1), "gradient": np.concatenate(steep, axis=1)}

    def _kept(self, erased: np.ndarray) -> Tensors:
        """Return the weight of each symbol after erasing units `[rows, units]`, by `INPUT_token_weights`."""
        kept = {}
        for one, source, gone in zip(self.looked, self.sources, np.split(erased, self.ends, axis=1), strict=True):
            gone = np.pad(gone, [(0, 0), (0, 1)])  # index -1 selects this padding, which is never erased
            kept[f"{one.name}_token_weights"] = tf.constant(
                1 - np.take_along_axis(gone, source, axis=1).astype("float32")
            )
        return kept

    def without(self, erased: np.ndarray) -> np.ndarray:
        """Return the probability of the answers after erasing units: `[rows, units] -> [rows]`."""
        found = self.infer({**self.tensors, **self._kept(erased)})
        return tf.reduce_sum(tf.where(found["labels"] == self.label, tf.exp(found["scores"]), 0), axis=1).numpy()

    def drops(self, choice: str, count: int, generator: np.random.Generator) -> np.ndarray:
        """Return the decrease of the probability of the answers after erasing `count` units, `[rows]`."""
        draws = _DRAWS if choice == "random" else 1
        found = np.zeros(len(self.before))
        for _ in range(draws):
            by = generator.random(self.there.shape) if choice == "random" else self.importance[choice]
            found += self.before - self.without(_most(np.where(self.there, by, -np.inf), count) & self.there)
        return found / draws


def faithfulness(
    model: Model,
    examples: Sequence[Example],
    counts: Sequence[int] = (1, 2, 3, 5),
    limit: int = 1000,
    batch_size: int = 100,
    seed: int = 0,
    quiet: bool = True,
) -> Faithfulness:
    """Measure how erasing the most attended inputs changes the answers, compared with random choice and the gradient.

    A word is erased by setting its embedding to zero (Li et al., 2016), a line by erasing all of its words. The
    gradient selects those whose erasure would lower the probability most if it were linear. A row counts only if at
    least one word or line remains.

    Args:
        model: A model that predicts a label, with attention to its inputs.
        examples: The examples to answer.
        counts: The numbers of words or lines to erase.
        limit: The maximum number of examples, drawn at random.
        batch_size: The number of examples per batch.
        seed: The seed of all random choices.
        quiet: Whether to hide the progress bar.

    Raises:
        ValueError: If the model does not predict a label or has no attention to a text, or if no row is long enough.
    """
    looked, generator = _looked(model), np.random.default_rng(seed)
    drawn = [examples[i] for i in generator.permutation(len(examples))[:limit]]
    if missing := [name for name in model.inputs if any(name not in one.inputs for one in drawn)]:
        raise ValueError(f"examples: expected {missing[0]} in each. Received: an example without it")
    refuse_unreadable(model, drawn)
    rows = sorted((dict(one.inputs) for one in drawn), key=lambda row: sum(map(len, map(str, row.values()))))

    infer = tf.function(model.infer, reduce_retracing=True, autograph=False)
    choices = ("attention", "gradient", "random")
    drops: dict[tuple[str, int], list[np.ndarray]] = {(choice, count): [] for choice in choices for count in counts}
    before: list[np.ndarray] = []
    with tqdm(range(0, len(rows), batch_size), unit="batch", disable=quiet) as starts:
        for start in starts:
            batch = _Batch(model, looked, rows[start : start + batch_size], infer)
            size = batch.there.sum(axis=1)
            before.append(batch.before[size > 0])
            for (choice, count), found in drops.items():
                if (size > count).any():
                    found.append(batch.drops(choice, count, generator)[size > count])
    if not any(drops.values()):
        raise ValueError(f"faithfulness: expected rows with more than {min(counts)} positions. Received: none")
    told = {
        choice: [
            (str(count), sum(map(len, found)), float(np.concatenate(found).mean()))
            for count in counts
            if (found := drops[choice, count])
        ]
        for choice in choices
    }
    erased = "lines" if looked[0].by_lines else "words"
    return Faithfulness(erased, float(np.concatenate(before).mean()), told)
