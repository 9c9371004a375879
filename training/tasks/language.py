"""Language models of single sentences or of one long text, evaluated by the perplexity of held-out text."""

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
from seqattn_tf.training.metrics import Tally, perplexity
from seqattn_tf.training.ngrams import KneserNey
from seqattn_tf.training.pretrained_embeddings import read_vectors
from seqattn_tf.training.soft_targets import SoftTargets
from seqattn_tf.training.tasks.base import Report, Task, Training, refuse_few
from seqattn_tf.training.tasks.settings import TextSettings, setting

_BEGINNING = re.compile(r"\s*(\S+\s+){0,3}\S*")  # the first few words of a text
_LONGEST = 60  # maximum characters of such a beginning


@dataclasses.dataclass(frozen=True)
class LanguageSettings(TextSettings):
    """Settings of a language model."""

    label_smoothing: float = 0.0
    tie_embeddings: bool = setting(False, "use the embedding matrix as output weights")
    softmax: str = setting("full", "full, sampled, adaptive; the last two are cheaper for large vocabularies")
    num_sampled: int = setting(512, "words drawn per step for a sampled softmax")
    tokenizer: str = setting("characters", "token type: characters, letters, spaces, words, subwords")
    sequence_length: int = setting(128, "training window in tokens, for long texts")
    max_source_length: int = setting(
        400, "maximum tokens of a prompt (longer: error) or training sentence (longer: skipped)"
    )
    max_target_length: int = setting(200, "maximum tokens to generate")
    temperature: float = setting(1.0, "sampling temperature; 0 for the most probable token")
    top_k: int = setting(0, "sample from the k most probable tokens; 0 for all")
    top_p: float = setting(1.0, "sample from the most probable tokens with this total probability")
    beam_width: int = setting(0, "use beam search of this width instead of sampling; 0 for sampling")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "sequence_length", "max_target_length", "num_sampled")
        if self.label_smoothing and self.softmax != "full":
            raise ValueError(f"label_smoothing: expected 0 unless softmax=full. Received: {self.label_smoothing}")


@dataclasses.dataclass(frozen=True)
class LanguageTask(Task[LanguageSettings, LanguageModel]):
    """Training of a language model on the targets of examples, which have no inputs.

    Args:
        window: 0 if the targets are sentences, whose ends are modelled and counted. Otherwise the targets are
            continuous text, evaluated in windows of this many symbols (see `LanguageModel.measure`).
        order: The order of the n-gram model to compare with; 0 for none.
    """

    window: int = 0
    order: int = 0
    higher_is_better = False

    @property
    def monitor(self) -> str:
        """Bits per symbol for a long text, perplexity for sentences."""
        return "bits" if self.window else "perplexity"

    def with_metric(self, metric: str) -> "LanguageTask":
        """Return the task itself; language models have no other metrics."""
        if metric:
            raise ValueError(
                f"metric: expected none, because this task is evaluated by {self.monitor}. Received: {metric!r}"
            )
        return self

    def build(self, settings: LanguageSettings, train: Examples) -> LanguageModel:
        """Build an untrained model with the vocabulary of the training texts and an id for unknown symbols."""
        learned = learn(
            train.targets,
            settings.tokenizer,
            settings.lowercase,
            settings.strip_accents,
            vocabulary=settings.vocabulary,
            min_count=settings.min_count,
        )
        refuse_few(learned, "vocabulary")
        text = Text(dataclasses.replace(learned, unknown=True), settings.max_source_length)
        vectors = read_vectors(settings)
        if vectors is not None:  # only for training words, because any other word would be one more candidate
            text, settings = vectors.widen(text, dataclasses.replace(settings, max_pretrained_words=0))
        rules = text.rules
        network = LanguageNetwork(rules.size, **arguments_of(LanguageNetwork, settings))
        if vectors is not None:
            vectors.begin(network, rules)
        target = Symbols(rules, settings.max_target_length)
        return LanguageModel(network, {"text": text}, target, **arguments_of(LanguageModel, settings))

    def open(
        self,
        settings: LanguageSettings,
        splits: Splits,
        model: LanguageModel | None = None,
        soft_targets: SoftTargets | None = None,
    ) -> Training[LanguageSettings, LanguageModel]:
        """Set up training on sentences, or on segments of a long text. Soft targets are not supported."""
        if soft_targets is not None:
            raise ValueError("soft_targets: expected none for a language model. Received: soft targets")
        kind = Stream if self.window else Training
        return kind(self, settings, model or self.create_model(settings, splits), splits)

    def check_metrics(self, model: LanguageModel, examples: Sequence[Example]) -> None:
        """Do nothing, because a language model has no metrics."""

    def inputs(self, model: LanguageModel, examples: Examples) -> dict[str, Column]:
        """Return no inputs, because the text is the target."""
        return {}

    def references(self, model: LanguageModel, examples: Iterable[Example]) -> dict[str, list[str]]:
        """Return no references, because a text may have many continuations."""
        return {}

    def model_inputs(self, example: Example) -> Mapping[str, Any]:
        """Return the beginning of a text, to be continued."""
        found = _BEGINNING.match(example.target[:_LONGEST])
        return {"text": found[0] if found else ""}

    def max_target_length(self, model: LanguageModel) -> int | None:
        """Return the maximum length of a sentence; None for a long text, which is divided into segments."""
        return None if self.window else model.source.limit

    def measure(
        self,
        model: LanguageModel,
        examples: Sequence[Example],
        notes: Mapping[str, str] | None = None,
        quiet: bool = True,
    ) -> Report:
        """Return bits per symbol, or the perplexity."""
        counts = model.surprises((example.target for example in examples), window=self.window)
        tally = Tally(counts, lambda sums: {"bits": float(sums[0] / max(sums[1], 1)) / math.log(2)})
        return Report({}).and_tally(tally if self.window else perplexity(counts))

    def baselines(
        self, model: LanguageModel, train: Sequence[Example], examples: Sequence[Example]
    ) -> dict[str, float]:
        """Return the perplexity of an n-gram model of the training sentences with the same vocabulary."""
        if not self.order:
            return {}
        rules = model.rules
        rival = KneserNey((rules.tokens(example.target) for example in train), self.order, rules.symbols)
        return {f"kneser_ney_{self.order}": rival.perplexity(rules.tokens(example.target) for example in examples)}


class Stream(Training[LanguageSettings, LanguageModel]):
    """Training on segments of a long text, which begin at other positions in every epoch.

    `max_examples` limits the number of segments per epoch.
    """

    def __init__(self, task: LanguageTask, settings: LanguageSettings, model: LanguageModel, splits: Splits) -> None:
        texts, rules = Examples.of(splits.train).targets, model.rules
        if rules.tokenizer == "characters" and not (rules.lowercase or rules.strip_accents):  # spaces are preserved
            self.ids = np.concatenate([model.stream(text) for text in texts]).astype(np.int32)
        else:
            self.ids = model.target.stretches(texts).ids
        if len(self.ids) < settings.sequence_length:
            least = settings.sequence_length
            raise ValueError(f"train: expected at least {least} symbols (sequence_length). Received: {len(self.ids)}")
        super().__init__(task, settings, model, splits)

    @property
    def steps(self) -> int:
        """The number of steps of an epoch."""
        stretches = len(self.ids) // self.settings.sequence_length
        return max(min(stretches, self.settings.max_examples or stretches) // self.settings.batch_size, 1)

    @property
    def batch_size(self) -> int:
        """The number of segments per step."""
        return min(self.settings.batch_size, max(len(self.ids) // self.settings.sequence_length, 1))

    @property
    def symbols(self) -> float:
        """The number of symbols in all segments of a step."""
        return float(self.settings.sequence_length * self.batch_size)

    def batches(self, epoch: int = 0, step: int = 0, part: Part = whole) -> tf.data.Dataset:
        """Return the batches from a step of an epoch to the end of training; `part` selects rows of each batch."""
        settings, epochs = self.settings, range(epoch, self.settings.epochs)
        size, steps, length = settings.batch_size, self.steps, settings.sequence_length
        return _stretches(self.ids, length, size, steps, settings.seed, epochs, step, part)


def _stretches(
    ids: np.ndarray, length: int, size: int, steps: int, seed: int, epochs: range, step: int, part: Part
) -> tf.data.Dataset:
    """Return `steps` batches per epoch of `size` segments of a text `[symbols]`, divided and shuffled every epoch."""
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
        spare = len(ids) - (count - 1) * length  # the number of positions available to the first segment
        first = tf.random.stateless_uniform([], seeds, 0, tf.minimum(spare - length + 1, length), tf.int32)
        starts = first + length * tf.range(count)
        starts = tf.random.experimental.stateless_shuffle(starts, seeds)
        return tf.reshape(starts[: steps * size], [steps, size])

    return part(planned(plan, epochs, step)).map(example).prefetch(4)
