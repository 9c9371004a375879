"""What a teacher says to inputs: a student learns from it beside the right answers (Hinton et al. 2015).

The inputs are those of the training split, and others that were made up. To each the teacher gives its answer, and at
every place of it the probabilities that it finds greatest. `lessons/` in the folder of a run holds them in parts, each
written whole, so that an end in between costs one part at most.
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
from seqattn_tf.outputs.symbols import ended
from seqattn_tf.outputs.taught import GraphTaught, Taught
from seqattn_tf.training.data import Example, Examples
from seqattn_tf.training.data.batches import Columns, by_part, input_columns
from seqattn_tf.training.data.examples import first_of_each

PART, _TOGETHER = 4096, 256  # inputs of a file, and of a question to the teacher
_ABOUT, MADE_UP = "about.json", "made_up.jsonl"
_ARRAYS = ("answers", "lengths", "numbers", "shares", "scores")

InputColumns = Callable[[Model, Examples], Mapping[str, Column]]


@dataclasses.dataclass(frozen=True)
class Lessons:
    """What a teacher said.

    Args:
        keys: of the training examples that it was asked about.
        made_up: inputs that it was asked about besides.
        answers: the symbols of all answers in a row, as a network says them, or their labels.
        lengths: symbols of each answer; of a label, 1.
        numbers: of the logits that the teacher found most probable, at every symbol of an answer and at its end.
        shares: their probabilities.
        target: what the teacher says, as JSON holds it.
        fingerprint: a checksum of all of it.
    """

    keys: Sequence[str]
    made_up: Sequence[Mapping[str, Any]]
    answers: np.ndarray
    lengths: np.ndarray
    numbers: np.ndarray
    shares: np.ndarray
    target: Mapping[str, Any]
    fingerprint: str

    def examples(self, train: Sequence[Example]) -> list[Example]:
        """What the teacher was asked, the examples of the training split as they are given here."""
        given = first_of_each(train)
        return [*(given[key] for key in self.keys), *(Example("", row, None) for row in self.made_up)]

    def follow(
        self, columns: Columns, rows: np.ndarray, train: Examples, inputs: InputColumns, model: Model, smoothing: float
    ) -> tuple[Columns, np.ndarray]:
        """Columns of a training split with these lessons after it, and which of their rows are learned from.

        Args:
            columns, rows: the same of the training split alone.
            train: its examples.
            inputs: how a model reads examples.
            model: the student.
            smoothing: of labels, those that are right.
        """
        if plain(save_target(model.target)) != self.target:
            raise ValueError("target: expected what the teachers say, symbol by symbol. Received: another vocabulary")
        given = inputs(model, Examples([*train, *self.examples(train)]))
        says = GraphTaught(model.says, smoothing)
        taught = self._taught(model)
        if type(taught.answers) is not type(columns.target):
            raise ValueError("target: expected one label of an example to be taught. Received: those of its parts, too")
        fits = np.ones(len(self.lengths), bool)  # answers do, since the teachers' target is this one
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
    """A model that is asked for lessons.

    Args:
        model: what answers: symbols or labels.
        top: how many of its greatest probabilities it tells.

    Raises:
        ValueError: the model says something else.
    """

    def __init__(self, model: Model, top: int = 3) -> None:
        spoken = isinstance(model.target, Symbols) and isinstance(model.network, EncoderDecoder | EnsembleNetwork)
        if not spoken and not isinstance(model.target, Label):
            said = f"{model.name_in_registry} that says {model.target.name_in_registry}"
            raise ValueError(f"teacher: expected a model that answers with symbols or a label. Received: {said}")
        if top < 1:
            raise ValueError(f"top: expected at least 1. Received: {top}")
        self.model, self.top = model, top
        self._teach = tf.function(self._say, reduce_retracing=True, autograph=False)

    def teach(self, examples: Sequence[Example]) -> dict[str, np.ndarray]:
        """The lessons of some examples, in their order, as arrays by name."""
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
        """Answers `[batch, time]`, their lengths, and what is most probable at each place `[batch, places, top]`."""
        model, found = self.model, self.model.infer(tensors)
        scores = found["scores"][:, 0]
        if isinstance(model.target, Label):
            top = min(self.top, model.target.size)
            labels, shares = found["labels"][:, :top], tf.exp(found["scores"][:, :top])
            return labels[:, :1], tf.ones_like(labels[:, 0]), labels[:, None], shares[:, None], scores
        tokens = found["tokens"][:, 0]
        lengths = tf.math.count_nonzero(tokens != PAD, axis=1, dtype=tf.int32)
        tokens = model.says.in_order(tokens, lengths)[:, : tf.reduce_max(lengths)]  # no step after the longest answer
        right = ended(tokens, lengths)
        logits = model.network({**tensors, **model.says.teach({"tokens": right})}, training=False)
        shares, numbers = tf.math.top_k(tf.nn.softmax(tf.cast(logits, tf.float32)), min(self.top, logits.shape[-1]))
        return tokens, lengths, numbers, shares, scores


def write_lessons(
    folder: Path,
    teacher: Teacher,
    train: Sequence[Example],
    make_up: Callable[[], Sequence[Mapping[str, Any]]],
    about: Mapping[str, Any],
    quiet: bool = False,
) -> None:
    """Ask a teacher about every training example and every input that is made up, and keep what it says in a folder.

    Parts that the folder has already are kept.

    Args:
        folder: of the lessons.
        teacher: who is asked.
        train: the training split.
        make_up: gives the inputs that are made up; only asked where the folder holds none.
        about: what these lessons are of; a folder with others is refused.
        quiet: whether no bar is shown.
    """
    about = plain(about)
    if (folder / _ABOUT).is_file():
        if (held := _read_json(folder / _ABOUT)) != about:
            other = {name: (held.get(name), about[name]) for name in about if held.get(name) != about[name]}
            raise ValueError(f"{folder} holds other lessons (held, asked): {other}. Choose another --run")
    else:
        with write_atomically(folder / MADE_UP) as aside:
            aside.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in make_up()), "utf-8")
        write_json(folder / _ABOUT, about)
    asked = [*first_of_each(train).values(), *(Example("", row, None) for row in _read_made_up(folder))]
    starts = range(0, len(asked), PART)
    with tqdm(starts, unit="part", desc="lessons", disable=quiet) as bar:
        for number, start in enumerate(bar):
            if not _part(folder, number).is_file():
                said = teacher.teach(asked[start : start + PART])
                with write_atomically(_part(folder, number)) as aside:
                    np.savez_compressed(aside, allow_pickle=False, **said)


def read_lessons(folder: Path, train: Sequence[Example], least: float = -np.inf) -> Lessons:
    """The lessons of a folder, without answers that their teacher found less probable than `exp(least)`.

    Of a training example every answer stays that is one: only inputs that were made up may be nonsense.

    Raises:
        ValueError: parts are missing or damaged, or there is nothing to learn.
    """
    given, made_up = first_of_each(train), _read_made_up(folder)
    count = len(range(0, len(given) + len(made_up), PART))
    parts = [_read_part(_part(folder, number)) for number in range(count)]
    said = {name: np.concatenate([part[name] for part in parts]) for name in _ARRAYS}
    if len(said["lengths"]) != len(given) + len(made_up):
        raise ValueError(f"{folder}: expected lessons of {len(given) + len(made_up)}. Received: {len(said['lengths'])}")
    of_given = np.arange(len(said["lengths"])) < len(given)
    kept = np.isfinite(said["scores"]) & (of_given | (said["scores"] >= least))
    if not kept.any():
        raise ValueError(f"{folder}: expected answers of a probability of at least exp({least}). Received: none")
    ends = (len(said["numbers"]) - said["lengths"].sum()) // len(said["lengths"])  # one after symbols, none of a label
    fingerprint = 0
    for name in _ARRAYS:
        fingerprint = zlib.crc32(said[name].tobytes(), fingerprint)
    places = np.repeat(kept, said["lengths"] + ends)
    return Lessons(
        keys=[key for key, keep in zip(given, kept, strict=False) if keep],
        made_up=[row for row, keep in zip(made_up, kept[len(given) :], strict=True) if keep],
        answers=said["answers"][np.repeat(kept, said["lengths"])],
        lengths=said["lengths"][kept],
        numbers=said["numbers"][places],
        shares=said["shares"][places],
        target=_read_json(folder / _ABOUT)["target"],
        fingerprint=f"{fingerprint:08x} from {least:g}",
    )


def plain(value: Any) -> Any:
    """A value as it comes out of a JSON file again."""
    return json.loads(json.dumps(value))


def _part(folder: Path, number: int) -> Path:
    return folder / f"{number:05d}.npz"


def _read_part(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path) as stored:
            return {name: stored[name] for name in _ARRAYS}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(
            f"{path}: expected a whole part of lessons; remove it to have it anew. Received: {error}"
        ) from None


def _read_made_up(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / MADE_UP).read_text("utf-8").split("\n") if line]


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON. Received: {error}") from None
