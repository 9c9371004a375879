"""What all kinds of trainings share: their settings, and the contract of a task."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from seqattn_tf.core.columns import Column
from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.fields.base import read_row, save_fields
from seqattn_tf.lite.targets.base import save_target
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import Model
from seqattn_tf.training.checkpoints import digest
from seqattn_tf.training.data import Example, Examples, Splits
from seqattn_tf.training.data.batches import Batching, Columns, Order, Part, batches, input_columns, whole
from seqattn_tf.training.data.code_version import SPLITTING, code_version
from seqattn_tf.training.data.corpus import Corpus
from seqattn_tf.training.data.examples import first_of_each, group_targets
from seqattn_tf.training.data.left_out import LeftOut
from seqattn_tf.training.data.stream import Encoded, Stream
from seqattn_tf.training.lessons import Lessons
from seqattn_tf.training.metrics import EXACT, Metric, nbest_accuracy
from seqattn_tf.training.tasks.settings import Settings

CHARACTERS = 65_536  # of the texts that are asked together


def parse_fold(choice: str) -> bool | str:
    """The `fold` of `SymbolRules` that a setting names."""
    choices: dict[str, bool | str] = {"": False, "case": "case", "all": True}
    if choice not in choices:
        raise ValueError(f"fold: expected one of {sorted(choices)}. Received: {choice!r}")
    return choices[choice]


def vocabulary_of(model: Model) -> str:
    """A hash of what goes in and comes out."""
    return digest(json.dumps([save_fields(model.inputs), save_target(model.target)]).encode())


def refuse_few(rules: SymbolRules, name: str) -> None:
    """A vocabulary with nothing to choose from is a mistake in the data."""
    if len(rules.symbols) < 2:
        raise ValueError(f"{name}: expected at least two symbols. Received: {rules.symbols}")


@dataclasses.dataclass(frozen=True)
class Report:
    """How good a model is: figures by name, and figures of groups, `(label, count, value)` each, by title."""

    figures: Mapping[str, float]
    groups: Mapping[str, Sequence[tuple[str, int, float]]] = dataclasses.field(default_factory=dict)


AnySettings = TypeVar("AnySettings", bound=Settings)
AnyModel = TypeVar("AnyModel", bound=Model)


@dataclasses.dataclass(frozen=True)
class Task(Generic[AnySettings, AnyModel]):
    """A kind of training: how a kind of model is built and measured. A subclass gives `build`.

    Args:
        metrics: what answers are measured by; the first one's figure picks the best epoch.
        nbest: for how many of the best answers to say how often one of them is right.
        groups: functions of `(answers, references, notes)` to `(label, count, value)` rows, by title.
        ordered: whether the training examples stand in an order, of which every epoch takes the next part.
        by_length: whether a batch has examples of about the same lengths, or of all.
    """

    metrics: Sequence[Metric] = (EXACT,)
    nbest: Sequence[int] = ()
    groups: Mapping[str, Callable] = dataclasses.field(default_factory=dict)
    ordered: bool = False
    by_length: bool = True

    @property
    def monitor(self) -> str:
        """The figure that picks the best epoch."""
        return self.metrics[0].figure

    @property
    def higher_is_better(self) -> bool:
        """Whether more of that figure is better."""
        return self.metrics[0].higher_is_better

    def measured_by(self, metric: str) -> "Task[AnySettings, AnyModel]":
        """The same task with another metric, by its name, and no groups of the old one; itself without a name."""
        return dataclasses.replace(self, metrics=(Metric.get(metric),), groups={}) if metric else self

    def build(self, settings: AnySettings, train: Examples) -> AnyModel:
        """An untrained model for these data."""
        raise NotImplementedError

    def begin(self, settings: AnySettings, splits: Splits) -> AnyModel:
        """The model that a training begins with, where none is given."""
        return self.build(settings, Examples.of(splits.train))

    def open(
        self,
        settings: AnySettings,
        splits: Splits,
        model: AnyModel | None = None,
        lessons: Lessons | None = None,
    ) -> "Training[AnySettings, AnyModel]":
        """Everything that a training needs; `model` where it begins with one, `lessons` where it has a teacher."""
        return Training(self, settings, model or self.begin(settings, splits), splits, lessons)

    def inputs(self, model: AnyModel, examples: Examples) -> dict[str, Column]:
        """What goes in of the examples, as the network learns from it."""
        return input_columns(model, examples)

    def asked(self, example: Example) -> Mapping[str, Any]:
        """What a person would ask of an example, by input: what a model carries to be shown with."""
        return example.inputs

    def max_target_length(self, model: AnyModel) -> int | None:
        """How long a target may be to be learned; None for any length."""
        return model.target.limit

    def learnable(self, model: AnyModel, train: Examples) -> np.ndarray:
        """Which examples can be learned from, were they short enough; `[examples]`."""
        return np.ones(len(train), bool)

    def check(self, training: "Training[AnySettings, AnyModel]") -> None:
        """Say of the data what a user should know before a long training."""

    def check_student(self, settings: AnySettings) -> None:
        """Refuse settings that lessons cannot be learned with."""

    def check_metrics(self, model: AnyModel, examples: Sequence[Example]) -> None:
        """Refuse a metric that does not give its figure: right answers to a few examples are measured."""
        few = self.references(model, examples[:5])
        for metric in self.metrics:
            metric.check(few)

    def quick(self, model: AnyModel) -> AnyModel:
        """The model as it is measured after every epoch: by less search, where there is any."""
        return model

    def measure(
        self, model: AnyModel, examples: Sequence[Example], notes: Mapping[str, str] | None = None, quiet: bool = True
    ) -> Report:
        """The figures; any listed target of a key is right. `notes` say of what kind a key is, where that is known."""
        return self.judge(model, answer_all(model, examples, quiet=quiet), examples, notes)

    def judge(
        self,
        model: AnyModel,
        found: Mapping[str, Answer],
        examples: Sequence[Example],
        notes: Mapping[str, str] | None = None,
    ) -> Report:
        """The figures of the answers that were found to the keys of examples."""
        references = self.references(model, examples)
        said = {key: answer.text for key, answer in found.items()}
        figures = {name: value for metric in self.metrics for name, value in metric.measure(said, references).items()}
        most = max((len(answer.alternatives) for answer in found.values()), default=0) + 1
        if nbest := [n for n in self.nbest if 1 < n <= most]:
            ranked = {key: [a.text, *(text for text, _ in a.alternatives)] for key, a in found.items()}
            figures |= nbest_accuracy(ranked, references, nbest)
        return Report(figures, {title: rows(said, references, notes or {}) for title, rows in self.groups.items()})

    def references(self, model: AnyModel, examples: Iterable[Example]) -> dict[str, list[str]]:
        """The right answers to each key, as the model's target writes them; none where no answer is right or wrong."""
        return {key: [model.target.said(t) for t in ts] for key, ts in group_targets(examples).items()}

    def baselines(self, model: AnyModel, train: Sequence[Example], examples: Sequence[Example]) -> dict[str, float]:
        """Figures of something simpler that learned from `train`, on the same examples, to put beside the model's."""
        return {}


class Training(Generic[AnySettings, AnyModel]):
    """A task opened on data: the model, the examples that it can learn from, and their batches.

    Of a corpus on disk, `columns` and `rows` are those of its first window: a sample of it.

    Args:
        task: the kind of training.
        settings: of it.
        model: untrained.
        splits: the data; what the model could not be measured on is refused.
        lessons: what a teacher says, to be learned from besides.
    """

    def __init__(
        self,
        task: Task[AnySettings, AnyModel],
        settings: AnySettings,
        model: AnyModel,
        splits: Splits,
        lessons: Lessons | None = None,
    ) -> None:
        self.task, self.settings, self.model, self.splits = task, settings, model, splits
        for name, part in (("development", splits.dev), ("test", splits.test)):
            self._refuse_long(name, Examples.of(part))
            self._refuse_targets(name, part)
        stored = self._encode(splits.train) if isinstance(splits.train, Corpus) else None
        self.columns, self.rows, left = stored.sample if stored else self.read(Examples.of(splits.train))
        left.warn()
        if not len(self.rows):
            raise ValueError(
                f"train: expected at least one example that the model can take. Received: none of {splits.origin}"
            )
        if lessons is not None:
            self._add(lessons, stored)
        parts = settings.epochs if task.ordered else 1
        if len(self.rows) < parts:
            raise ValueError(f"train: expected an example for each of {parts} epochs. Received: {len(self.rows)}")
        batching = Batching(settings.batch_size, settings.seed, task.by_length, settings.batch_tokens)
        self.order = Stream(stored, batching) if stored else Order(self.columns, self.rows, batching, parts)
        task.check(self)

    def _add(self, lessons: Lessons, stored: Encoded | None) -> None:
        self.task.check_student(self.settings)
        if stored or self.task.ordered:
            raise ValueError("lessons: expected data in memory, in no order (stream=never). Received: others")
        train, smoothing = Examples.of(self.splits.train), self.settings.label_smoothing
        self.columns, self.rows = lessons.follow(
            self.columns, self.rows, train, self.task.inputs, self.model, smoothing
        )

    def _encode(self, corpus: Corpus) -> Encoded:
        if self.task.ordered:
            raise ValueError("stream: expected never where examples stand in an order. Received: data on disk")
        own = {type(part).__module__ for part in (*self.model.inputs.values(), self.model.target)}
        return Encoded(corpus, f"{vocabulary_of(self.model)}-{code_version(*SPLITTING, *own)}", self.read)

    def _refuse_long(self, name: str, part: Examples) -> None:
        for given, column in self.task.inputs(self.model, part).items():
            limit, longest = self.model.inputs[given].limit, int(column.lengths.max(initial=0))
            if longest > limit:
                value = part[int(column.lengths.argmax())].inputs[given]
                raise ValueError(
                    f"{name} split: expected {given} of at most {limit} places (max_source of a text). "
                    f"Received: {longest}, {value!r:.80}"
                )

    def _refuse_targets(self, name: str, part: Sequence[Example]) -> None:
        """Refuse targets that answers could not be compared with, which would only be found after an epoch."""
        for example in part:
            try:
                self.model.target.said(example.target)
            except (ValueError, TypeError, IndexError) as error:
                raise ValueError(f"{name} split, target of {example.key!r:.80}: {error}") from None

    def read(self, train: Examples) -> tuple[Columns, np.ndarray, LeftOut]:
        """Examples as columns, those that can be learned from, and what is said of the others."""
        model = self.model
        columns = Columns(self.task.inputs(model, train), model.says.column(train.targets), model.says)
        lengths = {name: (column.lengths, model.inputs[name].limit) for name, column in columns.inputs.items()}
        most = self.task.max_target_length(model)
        if most is not None:
            lengths["target"] = columns.target.lengths, most
        learnable = self.task.learnable(model, train)
        fits = np.ones(len(train), bool)
        for found, limit in lengths.values():
            fits &= found <= limit
        longest = {name: (int(found.max(initial=0)), limit) for name, (found, limit) in lengths.items()}
        long = {name: both for name, both in longest.items() if both[0] > both[1]}
        left = LeftOut(len(train), int((~learnable).sum()), int((~fits).sum()), long)
        return columns, np.flatnonzero(fits & learnable), left

    @property
    def steps(self) -> int:
        """Steps of an epoch."""
        return self.order.steps

    @property
    def batch_size(self) -> int:
        """Examples of a step; where steps differ, what all of them have a multiple of."""
        return self.order.batch_size

    @property
    def symbols(self) -> float:
        """Places that are read and said in a step, on average; at least one of each example."""
        return self.order.symbols

    def batches(self, epoch: int = 0, step: int = 0, part: Part = whole) -> tf.data.Dataset:
        """What `fit` reads from this step of this epoch to the end of the last one; of every batch a `part`."""
        return self.order.batches(range(epoch, self.settings.epochs), step, part)

    @property
    def loss(self) -> Callable[..., tf.Tensor]:
        """What is minimised."""
        return self.columns.says.loss(self.settings.label_smoothing)


def without_beam(model: AnyModel) -> AnyModel:
    """The same model, whose answers are the best symbol at every step."""
    return model.with_settings(beam_width=1, alternatives=0, length_penalty=0.0)


def answer_all(
    model: Model, examples: Iterable[Example], batch_size: int = 256, quiet: bool = True
) -> dict[str, Answer]:
    """The model's answer to every key; batched by length, with a bar unless `quiet`."""
    asked = {key: example.inputs for key, example in first_of_each(examples).items()}
    sizes = {key: sum(len(value) for value in row.values() if isinstance(value, str)) for key, row in asked.items()}
    answers: dict[str, Answer] = {}
    with tqdm(_batches_by_size(sizes, batch_size), unit="batch", disable=quiet) as found:
        for keys in found:
            rows = [{name: field.raw(asked[key][name]) for name, field in model.inputs.items()} for key in keys]
            try:
                answers.update(zip(keys, model.answer(rows), strict=True))
            except ValueError:
                refuse_unreadable(model, (Example(key, asked[key], None) for key in keys))
                raise
    return answers


def _batches_by_size(sizes: Mapping[str, int], most: int) -> list[list[str]]:
    """Keys of rows of like size, the shortest first: at most so many, and of long ones as many as memory holds."""
    batches: list[list[str]] = []
    for key in sorted(sizes, key=sizes.__getitem__):
        if not batches or len(batches[-1]) >= min(most, max(CHARACTERS // max(sizes[key], 1), 1)):
            batches.append([])
        batches[-1].append(key)
    return batches


def refuse_unreadable(model: Model, examples: Iterable[Example]) -> None:
    """Say which example has a value that the model cannot read, where one has."""
    for example in examples:
        given = {name: field for name, field in model.inputs.items() if name in example.inputs}
        try:
            read_row(given, example.inputs)
        except ValueError as error:
            raise ValueError(f"{example.key:.80}, {error}") from None


def loss_of(model: Model, examples: Sequence[Example], batch_size: int = 64) -> tuple[float, float]:
    """The mean loss of the right answers, and the number of symbols or rows that it is the mean of."""
    total = count = 0.0
    loss, says = model.says.loss(), model.says
    forward = tf.function(lambda inputs: model.network(inputs, training=False), reduce_retracing=True)
    for inputs, right in batches(Columns.of(model, Examples.of(examples)), batch_size):
        kept = float(tf.math.count_nonzero(right != tf.cast(says.padding, right.dtype)))
        total += float(loss(right, forward(inputs))) * kept
        count += kept
    return total / max(count, 1), count
