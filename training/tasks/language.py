"""Language models: sentences one by one, or one long text in stretches; measured by how surprising held-out text is."""

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.core.columns import Column
from seqattn_tf.core.registry import arguments_of
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.lite.text import learn
from seqattn_tf.lite.text.rules import BEGIN
from seqattn_tf.models import LanguageModel, LanguageNetwork
from seqattn_tf.outputs.symbols import SHIFTED
from seqattn_tf.training.data import Example, Examples, Splits
from seqattn_tf.training.data.batches import Part, planned, whole
from seqattn_tf.training.lessons import Lessons
from seqattn_tf.training.ngrams import KneserNey
from seqattn_tf.training.tasks.base import Report, Task, Training, parse_fold, refuse_few
from seqattn_tf.training.tasks.settings import TextSettings, setting
from seqattn_tf.training.vectors import read_vectors

_BEGINNING = re.compile(r"\s*(\S+\s+){0,3}\S*")  # of a text, a few words to go on from
_LONGEST = 60  # characters of them


@dataclasses.dataclass(frozen=True)
class LanguageSettings(TextSettings):
    """Settings of a language model."""

    label_smoothing: float = 0.0
    tie_embeddings: bool = setting(False, "whether what scores a symbol is its embedding")
    softmax: str = setting("full", "or sampled, adaptive: what a step computes of a large vocabulary")
    samples: int = setting(512, "words that are drawn in a step, for a sampled softmax")
    split: str = setting("characters", "what a symbol is: characters, letters, spaces, words, subwords")
    sequence_length: int = setting(128, "of a long text, how many symbols are learned from at once")
    max_source: int = setting(
        400, "symbols; a longer text to go on from is refused, a longer sentence not learned from"
    )
    max_target: int = setting(200, "symbols that are added to a text, at most")
    temperature: float = setting(1.0, "of sampling; 0 for the best symbol")
    top_k: int = setting(0, "sample among so many of the best symbols; 0 for all")
    top_p: float = setting(1.0, "sample among the best symbols that have this probability together")
    beam_width: int = setting(0, "above 0, no sampling but a search of this width")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "sequence_length", "max_target", "samples")
        if self.label_smoothing and self.softmax != "full":
            raise ValueError(f"label_smoothing: expected 0 without a full softmax. Received: {self.label_smoothing}")


@dataclasses.dataclass(frozen=True)
class LanguageTask(Task[LanguageSettings, LanguageModel]):
    """Training of a language model on the targets of examples, which have no inputs.

    Args:
        window: 0 if the targets are sentences; their ends are learned and counted. Else they are texts that go on,
            measured in windows of so many symbols (see `LanguageModel.measure`).
        order: of the n-gram model beside which the figure is put; 0 for none.
    """

    window: int = 0
    order: int = 0
    higher_is_better = False

    @property
    def monitor(self) -> str:
        """Bits per symbol of a long text, perplexity of sentences."""
        return "bits" if self.window else "perplexity"

    def measured_by(self, metric: str) -> "LanguageTask":
        """Itself: a language model is measured by nothing else."""
        if metric:
            raise ValueError(f"metric: expected none, {self.monitor} is what counts here. Received: {metric!r}")
        return self

    def build(self, settings: LanguageSettings, train: Examples) -> LanguageModel:
        """Rules learned from the training texts, with an id for what is unknown, and a network of their size."""
        learned = learn(
            train.targets,
            settings.split,
            parse_fold(settings.fold),
            vocabulary=settings.vocabulary,
            min_count=settings.min_count,
        )
        refuse_few(learned, "vocabulary")
        text = Text(dataclasses.replace(learned, unknown=True), settings.max_source)
        vectors = read_vectors(settings)
        if vectors is not None:  # of its own words alone: every other would be one more to choose from
            text, settings = vectors.widen(text, dataclasses.replace(settings, vector_words=0))
        rules = text.rules
        network = LanguageNetwork(rules.size, **arguments_of(LanguageNetwork, settings))
        if vectors is not None:
            vectors.begin(network, rules)
        target = Symbols(rules, settings.max_target)
        return LanguageModel(network, {"text": text}, target, **arguments_of(LanguageModel, settings))

    def open(
        self,
        settings: LanguageSettings,
        splits: Splits,
        model: LanguageModel | None = None,
        lessons: Lessons | None = None,
    ) -> Training[LanguageSettings, LanguageModel]:
        """Sentences as they are, a long text in stretches; nobody teaches what comes next in a text."""
        if lessons is not None:
            raise ValueError("lessons: expected none of a language model. Received: some")
        kind = Stream if self.window else Training
        return kind(self, settings, model or self.begin(settings, splits), splits)

    def check_metrics(self, model: LanguageModel, examples: Sequence[Example]) -> None:
        """There are none."""

    def inputs(self, model: LanguageModel, examples: Examples) -> dict[str, Column]:
        """Nothing: a text is learned from as a target."""
        return {}

    def references(self, model: LanguageModel, examples: Iterable[Example]) -> dict[str, list[str]]:
        """None: a text may go on in many ways."""
        return {}

    def asked(self, example: Example) -> Mapping[str, Any]:
        """The beginning of a text, to go on from."""
        found = _BEGINNING.match(example.target[:_LONGEST])
        return {"text": found[0] if found else ""}

    def max_target_length(self, model: LanguageModel) -> int | None:
        """A text that can be gone on from can be learned; one in stretches has any length."""
        return None if self.window else model.source.limit

    def measure(
        self,
        model: LanguageModel,
        examples: Sequence[Example],
        notes: Mapping[str, str] | None = None,
        quiet: bool = True,
    ) -> Report:
        """Bits a symbol, or perplexity."""
        nats, symbols = model.measure((example.target for example in examples), window=self.window)
        mean = nats / max(symbols, 1)
        value = mean / math.log(2) if self.window else math.exp(mean) if mean < 700 else math.inf
        return Report({self.monitor: value})

    def baselines(
        self, model: LanguageModel, train: Sequence[Example], examples: Sequence[Example]
    ) -> dict[str, float]:
        """The same figure of an n-gram model of the training sentences, with the model's vocabulary."""
        if not self.order:
            return {}
        rules = model.rules
        rival = KneserNey((rules.tokens(example.target) for example in train), self.order, rules.symbols)
        return {f"kneser_ney_{self.order}": rival.perplexity(rules.tokens(example.target) for example in examples)}


class Stream(Training[LanguageSettings, LanguageModel]):
    """A training on long texts, in stretches that begin at another place in every epoch; `max_examples` counts them."""

    def __init__(self, task: LanguageTask, settings: LanguageSettings, model: LanguageModel, splits: Splits) -> None:
        texts, rules = Examples.of(splits.train).targets, model.rules
        if rules.split == "characters" and not rules.fold:  # no space is lost
            self.ids = np.concatenate([model.stream(text) for text in texts]).astype(np.int32)
        else:
            self.ids = model.target.stretches(texts).ids
        if len(self.ids) < settings.sequence_length:
            least = settings.sequence_length
            raise ValueError(f"train: expected at least {least} symbols (sequence_length). Received: {len(self.ids)}")
        super().__init__(task, settings, model, splits)

    @property
    def steps(self) -> int:
        """Steps of an epoch."""
        stretches = len(self.ids) // self.settings.sequence_length
        return max(min(stretches, self.settings.max_examples or stretches) // self.settings.batch_size, 1)

    @property
    def batch_size(self) -> int:
        """Stretches of a step."""
        return min(self.settings.batch_size, max(len(self.ids) // self.settings.sequence_length, 1))

    @property
    def symbols(self) -> float:
        """Of all stretches of a step."""
        return float(self.settings.sequence_length * self.batch_size)

    def batches(self, epoch: int = 0, step: int = 0, part: Part = whole) -> tf.data.Dataset:
        """Stretches from this step of this epoch to the end of the last one; of every batch a `part`."""
        settings, epochs = self.settings, range(epoch, self.settings.epochs)
        size, steps, length = settings.batch_size, self.steps, settings.sequence_length
        return _stretches(self.ids, length, size, steps, settings.seed, epochs, step, part)


def _stretches(
    ids: np.ndarray, length: int, size: int, steps: int, seed: int, epochs: range, step: int, part: Part
) -> tf.data.Dataset:
    """`steps` batches an epoch of `size` stretches of a text `[symbols]`, cut anew and in another order every epoch."""
    text = tf.constant(ids, tf.int32)
    count = max(len(ids) // length, 1)
    size = min(size, count)

    @tf.autograph.experimental.do_not_convert
    def example(rows: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        targets = tf.gather(text, rows[:, None] + tf.range(length))
        shifted = tf.concat([tf.fill([tf.shape(rows)[0], 1], BEGIN), targets[:, :-1]], axis=1)
        return {SHIFTED: shifted}, targets

    def plan(epoch: tf.Tensor) -> tf.Tensor:
        seeds = tf.stack([seed, epoch])
        spare = len(ids) - (count - 1) * length  # places where the first stretch may begin
        first = tf.random.stateless_uniform([], seeds, 0, tf.minimum(spare - length + 1, length), tf.int32)
        starts = first + length * tf.range(count)
        starts = tf.random.experimental.stateless_shuffle(starts, seeds)
        return tf.reshape(starts[: steps * size], [steps, size])

    return part(planned(plan, epochs, step)).map(example).prefetch(4)
