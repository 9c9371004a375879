"""The base classes of tasks, and the training of a task on data."""

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
from seqattn_tf.training.data.skipped import SkippedExamples
from seqattn_tf.training.data.stream import Encoded, Stream
from seqattn_tf.training.metrics import EXACT, Metric, Sampled, Tally, nbest_tally
from seqattn_tf.training.soft_targets import SoftTargets
from seqattn_tf.training.tasks.settings import Settings

CHARACTERS = 65_536  # characters of the texts that are answered in one batch


def vocabulary_of(model: Model) -> str:
    """Return a hash of the input fields and of the target of a model."""
    return digest(json.dumps([save_fields(model.inputs), save_target(model.target)]).encode())


def refuse_few(rules: SymbolRules, name: str) -> None:
    """Raise an error for a vocabulary of fewer than two symbols, which indicates a mistake in the data."""
    if len(rules.symbols) < 2:
        raise ValueError(f"{name}: expected at least two symbols. Received: {rules.symbols}")


@dataclasses.dataclass(frozen=True)
class Report:
    """The results of an evaluation.

    Args:
        metrics: The values by name.
        groups: Rows `(label, count, value)` of groups, by title.
        samples: The same values for any sample of the test examples, for intervals and comparisons.
    """

    metrics: Mapping[str, float]
    groups: Mapping[str, Sequence[tuple[str, int, float]]] = dataclasses.field(default_factory=dict)
    samples: Sequence[Sampled] = ()

    def and_tally(self, tally: Tally) -> "Report":
        """Return this report with further values."""
        metrics = {**self.metrics, **tally.total}
        return dataclasses.replace(self, metrics=metrics, samples=[*self.samples, tally])


AnySettings = TypeVar("AnySettings", bound=Settings)
AnyModel = TypeVar("AnyModel", bound=Model)


@dataclasses.dataclass(frozen=True)
class Task(Generic[AnySettings, AnyModel]):
    """A task: how one kind of model is built, trained and evaluated. Subclasses define `build`.

    Args:
        metrics: The metrics that answers are measured by. The main value of the first one selects the best epoch.
        nbest: Numbers `n` for which to report how often one of the `n` best answers is correct.
        groups: Functions from `(answers, references, notes)` to rows `(label, count, value)`, by title.
        ordered: Whether the training examples are ordered, so that every epoch takes the next part of them.
        by_length: Whether a batch contains examples of similar lengths rather than of all lengths.
    """

    metrics: Sequence[Metric] = (EXACT,)
    nbest: Sequence[int] = ()
    groups: Mapping[str, Callable] = dataclasses.field(default_factory=dict)
    ordered: bool = False
    by_length: bool = True

    @property
    def monitor(self) -> str:
        """The name of the value that selects the best epoch."""
        return self.metrics[0].figure

    @property
    def higher_is_better(self) -> bool:
        """Whether higher values of `monitor` are better."""
        return self.metrics[0].higher_is_better

    def with_metric(self, metric: str) -> "Task[AnySettings, AnyModel]":
        """Return this task with another metric and without groups, or the task itself if the name is empty."""
        return dataclasses.replace(self, metrics=(Metric.get(metric),), groups={}) if metric else self

    def build(self, settings: AnySettings, train: Examples) -> AnyModel:
        """Build an untrained model for these data."""
        raise NotImplementedError

    def create_model(self, settings: AnySettings, splits: Splits) -> AnyModel:
        """Create the model that training starts from, unless one is given."""
        return self.build(settings, Examples.of(splits.train))

    def open(
        self,
        settings: AnySettings,
        splits: Splits,
        model: AnyModel | None = None,
        soft_targets: SoftTargets | None = None,
    ) -> "Training[AnySettings, AnyModel]":
        """Set up the training of this task on data.

        Args:
            settings: The settings of the task.
            splits: The data.
            model: The model to start from; a new one by default.
            soft_targets: The output of a teacher to train on, if there is one.
        """
        return Training(self, settings, model or self.create_model(settings, splits), splits, soft_targets)

    def inputs(self, model: AnyModel, examples: Examples) -> dict[str, Column]:
        """Return the inputs of the examples as the network reads them in training."""
        return input_columns(model, examples)

    def model_inputs(self, example: Example) -> Mapping[str, Any]:
        """Return the inputs that a user would enter for an example. They are stored with a model to demonstrate it."""
        return example.inputs

    def max_target_length(self, model: AnyModel) -> int | None:
        """Return the maximum length of a target in training, or None for no limit."""
        return model.target.limit

    def learnable(self, model: AnyModel, train: Examples) -> np.ndarray:
        """Return which examples can be trained on, regardless of their length: `[examples]`."""
        return np.ones(len(train), bool)

    def check(self, training: "Training[AnySettings, AnyModel]") -> None:
        """Warn about problems in the data, or raise an error, before a long training run."""

    def check_student(self, settings: AnySettings) -> None:
        """Raise an error for settings that cannot be combined with soft targets."""

    def check_metrics(self, model: AnyModel, examples: Sequence[Example]) -> None:
        """Check each metric on the references of a few examples; raise an error if its main value is missing."""
        few = self.references(model, examples[:5])
        for metric in self.metrics:
            metric.check(few)

    def fast_variant(self, model: AnyModel) -> AnyModel:
        """Return the model to evaluate after every epoch, with less search if there is any."""
        return model

    def measure(
        self, model: AnyModel, examples: Sequence[Example], notes: Mapping[str, str] | None = None, quiet: bool = True
    ) -> Report:
        """Answer and evaluate examples.

        Every target listed for a key counts as correct. `notes` contains the categories of the keys, if known.
        """
        return self.evaluate(model, answer_all(model, examples, quiet=quiet), examples, notes)

    def evaluate(
        self,
        model: AnyModel,
        found: Mapping[str, Answer],
        examples: Sequence[Example],
        notes: Mapping[str, str] | None = None,
    ) -> Report:
        """Evaluate the answers found for the keys of examples."""
        references = self.references(model, examples)
        said = {key: answer.text for key, answer in found.items()}
        measured = [metric.evaluate(said, references) for metric in self.metrics]
        figures = {name: value for values, _ in measured for name, value in values.items()}
        most = max((len(answer.alternatives) for answer in found.values()), default=0) + 1
        if nbest := [n for n in self.nbest if 1 < n <= most]:
            ranked = {key: [a.text, *(text for text, _ in a.alternatives)] for key, a in found.items()}
            tally = nbest_tally(ranked, references, nbest)
            figures, measured = {**figures, **tally.total}, [*measured, (tally.total, tally)]
        groups = {title: rows(said, references, notes or {}) for title, rows in self.groups.items()}
        return Report(figures, groups, [sampled for _, sampled in measured])

    def references(self, model: AnyModel, examples: Iterable[Example]) -> dict[str, list[str]]:
        """Return the correct answers to each key in the notation of the target; empty for open-ended tasks."""
        return {key: [model.target.normalize(t) for t in ts] for key, ts in group_targets(examples).items()}

    def baselines(self, model: AnyModel, train: Sequence[Example], examples: Sequence[Example]) -> dict[str, float]:
        """Return the results of a simpler method, trained on `train`, on the same examples, for comparison."""
        return {}


class Training(Generic[AnySettings, AnyModel]):
    """A task with its data: the model, the examples that it can be trained on, and their batches.

    For a corpus on disk, `columns` and `rows` are those of its first window, as a sample.

    Args:
        task: The task to train.
        settings: The settings of the task.
        model: The model to train.
        splits: The data.
        soft_targets: The output of a teacher, to train on in addition to the data.

    Raises:
        ValueError: If the model cannot be evaluated on a development or test example, or trained on any training
            example.
    """

    def __init__(
        self,
        task: Task[AnySettings, AnyModel],
        settings: AnySettings,
        model: AnyModel,
        splits: Splits,
        soft_targets: SoftTargets | None = None,
    ) -> None:
        self.task, self.settings, self.model, self.splits = task, settings, model, splits
        for name, part in (("development", splits.dev), ("test", splits.test)):
            self._refuse_long(name, Examples.of(part))
            self._refuse_targets(name, part)
        stored = self._encode(splits.train) if isinstance(splits.train, Corpus) else None
        self.columns, self.rows, left = stored.sample if stored else self.read(Examples.of(splits.train))
        left.warn()
        if not len(self.rows):
            raise ValueError(f"train: expected at least one usable example. Received: none from {splits.origin}")
        if soft_targets is not None:
            self._add(soft_targets, stored)
        parts = settings.epochs if task.ordered else 1
        if len(self.rows) < parts:
            raise ValueError(
                f"train: expected at least one example for each of {parts} epochs. Received: {len(self.rows)}"
            )
        batching = Batching(settings.batch_size, settings.seed, task.by_length, settings.batch_tokens)
        self.order = Stream(stored, batching) if stored else Order(self.columns, self.rows, batching, parts)
        task.check(self)

    def _add(self, soft_targets: SoftTargets, stored: Encoded | None) -> None:
        self.task.check_student(self.settings)
        if stored or self.task.ordered:
            raise ValueError(
                "soft_targets: expected in-memory data without a fixed order. "
                "Received: other data; use --set stream=never"
            )
        train, smoothing = Examples.of(self.splits.train), self.settings.label_smoothing
        self.columns, self.rows = soft_targets.follow(
            self.columns, self.rows, train, self.task.inputs, self.model, smoothing
        )

    def _encode(self, corpus: Corpus) -> Encoded:
        if self.task.ordered:
            raise ValueError("stream: expected never for examples in a fixed order. Received: data on disk")
        own = {type(part).__module__ for part in (*self.model.inputs.values(), self.model.target)}
        return Encoded(corpus, f"{vocabulary_of(self.model)}-{code_version(*SPLITTING, *own)}", self.read)

    def _refuse_long(self, name: str, part: Examples) -> None:
        for given, column in self.task.inputs(self.model, part).items():
            limit, longest = self.model.inputs[given].limit, int(column.lengths.max(initial=0))
            if longest > limit:
                value = part[int(column.lengths.argmax())].inputs[given]
                raise ValueError(
                    f"{name} split: expected {given} of at most {limit} positions (max_source_length for text). "
                    f"Received: {longest}, {value!r:.80}"
                )

    def _refuse_targets(self, name: str, part: Sequence[Example]) -> None:
        """Check up front that targets can be compared with answers, instead of failing after an epoch."""
        for example in part:
            try:
                self.model.target.normalize(example.target)
            except (ValueError, TypeError, IndexError) as error:
                raise ValueError(f"{name} split, target of {example.key!r:.80}: {error}") from None

    def read(self, train: Examples) -> tuple[Columns, np.ndarray, SkippedExamples]:
        """Return examples as columns, the indices of those that can be trained on, and a count of the others."""
        model = self.model
        columns = Columns(self.task.inputs(model, train), model.graph_target.column(train.targets), model.graph_target)
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
        left = SkippedExamples(len(train), int((~learnable).sum()), int((~fits).sum()), long)
        return columns, np.flatnonzero(fits & learnable), left

    @property
    def steps(self) -> int:
        """The number of steps of an epoch."""
        return self.order.steps

    @property
    def batch_size(self) -> int:
        """The number of examples per step, or the greatest common divisor if steps differ in size."""
        return self.order.batch_size

    @property
    def symbols(self) -> float:
        """The average number of input and target positions per step, at least one per column of an example."""
        return self.order.symbols

    def batches(self, epoch: int = 0, step: int = 0, part: Part = whole) -> tf.data.Dataset:
        """Return the batches from a step of an epoch to the end of training; `part` selects the rows of each batch."""
        return self.order.batches(range(epoch, self.settings.epochs), step, part)

    @property
    def loss(self) -> Callable[..., tf.Tensor]:
        """The loss function to minimize."""
        return self.columns.graph_target.loss(self.settings.label_smoothing)


def without_beam(model: AnyModel) -> AnyModel:
    """Return the same model with greedy decoding."""
    return model.with_settings(beam_width=1, alternatives=0, length_penalty=0.0)


def answer_all(
    model: Model, examples: Iterable[Example], batch_size: int = 256, quiet: bool = True
) -> dict[str, Answer]:
    """Return the model's answer to every key.

    Inputs of similar length are answered together, with a progress bar unless `quiet`.
    """
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
    """Divide keys into batches of inputs of similar size, shortest first.

    A batch has at most `most` keys, and fewer if the inputs are so long that it would exceed `CHARACTERS`.
    """
    batches: list[list[str]] = []
    for key in sorted(sizes, key=sizes.__getitem__):
        if not batches or len(batches[-1]) >= min(most, max(CHARACTERS // max(sizes[key], 1), 1)):
            batches.append([])
        batches[-1].append(key)
    return batches


def refuse_unreadable(model: Model, examples: Iterable[Example]) -> None:
    """Raise an error that names the first example with a value that the model cannot read, if there is one."""
    for example in examples:
        given = {name: field for name, field in model.inputs.items() if name in example.inputs}
        try:
            read_row(given, example.inputs)
        except ValueError as error:
            raise ValueError(f"{example.key:.80}, {error}") from None


def losses_of(model: Model, examples: Sequence[Example], batch_size: int = 64) -> np.ndarray:
    """Return the loss of the correct answer to each example, and the number of symbols that it sums, `[examples, 2]`.

    The order of the examples is that of the batches, which is the same for every model.
    """
    loss, padding = model.graph_target.loss(), model.graph_target.padding

    @tf.function(reduce_retracing=True)
    def measure(inputs: Any, right: tf.Tensor) -> tf.Tensor:
        outputs = model.network(inputs, training=False)
        means = tf.map_fn(
            lambda row: loss(*tf.nest.map_structure(lambda one: one[None], row)),
            (right, outputs),
            fn_output_signature=tf.float32,
        )
        places = tf.reshape(right != tf.cast(padding, right.dtype), [tf.shape(right)[0], -1])
        counts = tf.reduce_sum(tf.cast(places, tf.float32), axis=1)
        return tf.stack([means * counts, counts], axis=1)

    found = [measure(*batch).numpy() for batch in batches(Columns.of(model, Examples.of(examples)), batch_size)]
    return np.concatenate(found).astype(np.float64)
