"""Soft targets: a teacher's output, which a student learns in addition to the correct answers (Hinton et al. 2015).

The inputs are those of the training split and synthetic ones. For each, the teacher gives its answer and, at every
position of it, the highest probabilities. They are stored in parts in `soft_targets/` of a run. Each part is written as
a whole, so that an interruption loses one part at most.
"""

import dataclasses
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from seqattn_tf.core.atomic_io import write_atomically, write_json
from seqattn_tf.core.columns import Column, DenseColumn, RaggedColumn
from seqattn_tf.lite.targets import Label, Symbols
from seqattn_tf.lite.targets.base import save_target
from seqattn_tf.lite.text.rules import END, PAD
from seqattn_tf.models import EncoderDecoder, Model
from seqattn_tf.models.networks.ensemble import EnsembleNetwork
from seqattn_tf.outputs.soft_targets import GraphSoftTargets, Taught
from seqattn_tf.outputs.symbols import ended
from seqattn_tf.training.data import Example, Examples
from seqattn_tf.training.data.batches import Columns, by_part, input_columns
from seqattn_tf.training.data.examples import first_of_each

PART, _TOGETHER = 4096, 256  # inputs per file, and per batch of the teacher
_ABOUT, SYNTHETIC = "about.json", "synthetic.jsonl"
_ARRAYS = ("answers", "lengths", "numbers", "shares", "scores")

InputColumns = Callable[[Model, Examples], Mapping[str, Column]]


@dataclasses.dataclass(frozen=True)
class SoftTargets:
    """The output of a teacher.

    Args:
        keys: The keys of the training examples that the teacher has answered.
        synthetic: The synthetic inputs that the teacher has answered.
        answers: The symbols of all answers, concatenated in the order in which the network generates them, or the
            labels.
        lengths: The number of symbols of each answer; 1 for a label.
        numbers: The indices of the most probable logits, at every symbol of an answer and at its end.
        shares: The probabilities of these logits.
        target: The target of the teacher, as a JSON value.
        fingerprint: A checksum of all of this.
    """

    keys: Sequence[str]
    synthetic: Sequence[Mapping[str, Any]]
    answers: np.ndarray
    lengths: np.ndarray
    numbers: np.ndarray
    shares: np.ndarray
    target: Mapping[str, Any]
    fingerprint: str

    def examples(self, train: Sequence[Example]) -> list[Example]:
        """Return the examples that the teacher has answered, given those of the training split."""
        given = first_of_each(train)
        return [*(given[key] for key in self.keys), *(Example("", row, None) for row in self.synthetic)]

    def follow(
        self, columns: Columns, rows: np.ndarray, train: Examples, inputs: InputColumns, model: Model, smoothing: float
    ) -> tuple[Columns, np.ndarray]:
        """Append these soft targets to a training split; return the columns and the indices of the rows to train on.

        Args:
            columns, rows: Those of the training split alone.
            train: The training examples.
            inputs: A function that returns the input columns of examples.
            model: The student.
            smoothing: The label smoothing of the correct answers.
        """
        if plain(save_target(model.target)) != self.target:
            raise ValueError("target: expected the vocabulary of the teachers. Received: a different one")
        given = inputs(model, Examples([*train, *self.examples(train)]))
        says = GraphSoftTargets(model.graph_target, smoothing)
        taught = self._taught(model)
        if type(taught.answers) is not type(columns.target):
            raise ValueError("target: expected one label per example. Received: also labels of its parts")
        fits = np.ones(len(self.lengths), bool)  # answers always fit, since the teachers have the same target
        for name, column in given.items():
            fits &= column.lengths[len(train) :] <= model.inputs[name].limit
        both = Columns(given, says.joined(columns.target, taught), says)
        return both, np.concatenate([rows, len(train) + np.flatnonzero(fits)])

    def _taught(self, model: Model) -> Taught:
        if isinstance(model.target, Label):
            starts = np.arange(len(self.lengths) + 1)
            return Taught(DenseColumn({"labels": self.answers}), self.numbers, self.shares, starts)
        starts, places = (np.concatenate([[0], np.cumsum(lengths)]) for lengths in (self.lengths, self.lengths + 1))
        return Taught(RaggedColumn("tokens", self.answers, starts, end=END), self.numbers, self.shares, places)


class Teacher:
    """A model that produces soft targets.

    Args:
        model: A model that predicts symbols or labels.
        top: The number of highest probabilities to store.

    Raises:
        ValueError: If the model predicts something else.
    """

    def __init__(self, model: Model, top: int = 3) -> None:
        spoken = isinstance(model.target, Symbols) and isinstance(model.network, EncoderDecoder | EnsembleNetwork)
        if not spoken and not isinstance(model.target, Label):
            said = f"{model.name_in_registry} with the target {model.target.name_in_registry}"
            raise ValueError(f"teacher: expected a model that predicts tokens or a label. Received: {said}")
        if top < 1:
            raise ValueError(f"top: expected at least 1. Received: {top}")
        self.model, self.top = model, top
        self._teach = tf.function(self._say, reduce_retracing=True, autograph=False)

    def teach(self, examples: Sequence[Example]) -> dict[str, np.ndarray]:
        """Return the soft targets of some examples in order, as arrays by name."""
        columns = input_columns(self.model, Examples(list(examples)))
        order = np.argsort(sum(column.lengths for column in columns.values()), kind="stable")
        said: list[tuple[np.ndarray, ...]] = [()] * len(order)
        for start in range(0, len(order), _TOGETHER):
            rows = order[start : start + _TOGETHER]
            tensors = by_part({name: column.rows(tf.constant(rows)) for name, column in columns.items()})
            answers, lengths, numbers, shares, scores = (one.numpy() for one in self._teach(tensors))
            for at, row in enumerate(rows):
                places = lengths[at] + isinstance(self.model.target, Symbols)
                said[row] = (answers[at, : lengths[at]], numbers[at, :places], shares[at, :places], scores[at])
        answers, numbers, shares, scores = zip(*said, strict=True)
        return {
            "answers": np.concatenate(answers).astype("int32"),
            "lengths": np.array([len(one) for one in answers], "int64"),
            "numbers": np.concatenate(numbers).astype("int32"),
            "shares": np.concatenate(shares).astype("float16"),
            "scores": np.array(scores, "float32"),
        }

    def _say(self, tensors: dict[str, tf.Tensor]) -> tuple[tf.Tensor, ...]:
        """Return answers `[batch, time]`, their lengths, the top indices and probabilities, and the scores."""
        model, found = self.model, self.model.infer(tensors)
        scores = found["scores"][:, 0]
        if isinstance(model.target, Label):
            top = min(self.top, model.target.size)
            labels, shares = found["labels"][:, :top], tf.exp(found["scores"][:, :top])
            return labels[:, :1], tf.ones_like(labels[:, 0]), labels[:, None], shares[:, None], scores
        tokens = found["tokens"][:, 0]
        lengths = tf.math.count_nonzero(tokens != PAD, axis=1, dtype=tf.int32)
        tokens = model.graph_target.in_order(tokens, lengths)[:, : tf.reduce_max(lengths)]  # up to the longest answer
        right = ended(tokens, lengths)
        logits = model.network({**tensors, **model.graph_target.teacher_inputs({"tokens": right})}, training=False)
        shares, numbers = tf.math.top_k(tf.nn.softmax(tf.cast(logits, tf.float32)), min(self.top, logits.shape[-1]))
        return tokens, lengths, numbers, shares, scores


def write_soft_targets(
    folder: Path,
    teacher: Teacher,
    train: Sequence[Example],
    synthesize: Callable[[], Sequence[Mapping[str, Any]]],
    about: Mapping[str, Any],
    quiet: bool = False,
) -> None:
    """Compute the soft targets of every training example and every synthetic input, and store them in a folder.

    Parts that already exist are not computed again.

    Args:
        folder: The folder of the soft targets.
        teacher: The teacher.
        train: The training split.
        synthesize: Returns the synthetic inputs; called only if the folder contains none.
        about: A description of these soft targets; a folder with another one is an error.
        quiet: Whether to hide the progress bar.
    """
    about = plain(about)
    if (folder / _ABOUT).is_file():
        if (held := _read_json(folder / _ABOUT)) != about:
            other = {name: (held.get(name), about[name]) for name in about if held.get(name) != about[name]}
            raise ValueError(f"{folder} contains other soft targets (stored, given): {other}. Choose another --run")
    else:
        with write_atomically(folder / SYNTHETIC) as aside:
            aside.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in synthesize()), "utf-8")
        write_json(folder / _ABOUT, about)
    asked = [*first_of_each(train).values(), *(Example("", row, None) for row in _read_synthetic(folder))]
    starts = range(0, len(asked), PART)
    with tqdm(starts, unit="part", desc="soft_targets", disable=quiet) as bar:
        for number, start in enumerate(bar):
            if not _part(folder, number).is_file():
                said = teacher.teach(asked[start : start + PART])
                with write_atomically(_part(folder, number)) as aside:
                    np.savez_compressed(aside, allow_pickle=False, **said)


def read_soft_targets(folder: Path, train: Sequence[Example], least: float = -np.inf) -> SoftTargets:
    """Read the soft targets of a folder, without answers that the teacher found less probable than `exp(least)`.

    This limit applies only to synthetic inputs, because only these may be nonsense.

    Raises:
        ValueError: If parts are missing or damaged, or if no answer is probable enough.
    """
    given, synthetic = first_of_each(train), _read_synthetic(folder)
    count = len(range(0, len(given) + len(synthetic), PART))
    parts = [_read_part(_part(folder, number)) for number in range(count)]
    said = {name: np.concatenate([part[name] for part in parts]) for name in _ARRAYS}
    if len(said["lengths"]) != len(given) + len(synthetic):
        raise ValueError(
            f"{folder}: expected soft targets for {len(given) + len(synthetic)} inputs. "
            f"Received: {len(said['lengths'])}"
        )
    of_given = np.arange(len(said["lengths"])) < len(given)
    kept = np.isfinite(said["scores"]) & (of_given | (said["scores"] >= least))
    if not kept.any():
        raise ValueError(f"{folder}: expected answers with a probability of at least exp({least}). Received: none")
    ends = (len(said["numbers"]) - said["lengths"].sum()) // len(said["lengths"])  # 1 for symbols, 0 for a label
    fingerprint = 0
    for name in _ARRAYS:
        fingerprint = zlib.crc32(said[name].tobytes(), fingerprint)
    places = np.repeat(kept, said["lengths"] + ends)
    return SoftTargets(
        keys=[key for key, keep in zip(given, kept, strict=False) if keep],
        synthetic=[row for row, keep in zip(synthetic, kept[len(given) :], strict=True) if keep],
        answers=said["answers"][np.repeat(kept, said["lengths"])],
        lengths=said["lengths"][kept],
        numbers=said["numbers"][places],
        shares=said["shares"][places],
        target=_read_json(folder / _ABOUT)["target"],
        fingerprint=f"{fingerprint:08x} from {least:g}",
    )


def plain(value: Any) -> Any:
    """Return a value as it would be read from a JSON file."""
    return json.loads(json.dumps(value))


def _part(folder: Path, number: int) -> Path:
    return folder / f"{number:05d}.npz"


def _read_part(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path) as stored:
            return {name: stored[name] for name in _ARRAYS}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(
            f"{path}: expected a complete part of soft targets; remove it to create it again. Received: {error}"
        ) from None


def _read_synthetic(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / SYNTHETIC).read_text("utf-8").split("\n") if line]


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON. Received: {error}") from None
