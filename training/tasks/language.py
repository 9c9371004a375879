"""Language models: sentences one by one, or one long text in stretches; measured by how surprising held-out text is."""

import dataclasses
import math
import warnings
from collections.abc import Mapping, Sequence

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.models import LanguageModel, LanguageNetwork
from seqattn_tf.text import SymbolRules
from seqattn_tf.text.rules import BEGIN
from seqattn_tf.training.data import Pair, Splits
from seqattn_tf.training.data.batches import Arrays, batches, encode
from seqattn_tf.training.metrics import MaskedCrossEntropy
from seqattn_tf.training.ngrams import KneserNey
from seqattn_tf.training.tasks.base import Report, Settings, Task, folded, refuse_few


@dataclasses.dataclass(frozen=True)
class LanguageSettings(Settings):
    """Settings of a language model."""

    label_smoothing: float = 0.0
    tied: bool = False  # whether what scores a symbol is its embedding
    split: str = "characters"  # or letters, spaces, words, subwords
    fold: str = ""  # what to ignore: case, or all (case and accents)
    vocabulary: int = 0  # at most so many symbols; 0 for all
    least: int = 1  # a symbol seen less often in the training data is unknown
    stretch: int = 128  # of a long text, how many symbols are learned from at once
    max_source: int = 400  # symbols; a longer text to go on from is refused, a longer sentence not learned from
    max_target: int = 200  # symbols that are added to a text, at most
    temperature: float = 1.0  # of sampling; 0 for the best symbol
    top_k: int = 0
    top_p: float = 1.0
    beam: int = 0  # above 0, no sampling but a search of this width

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stretch < 1:
            raise ValueError(f"stretch: expected at least 1. Received: {self.stretch}")


@dataclasses.dataclass(frozen=True)
class LanguageTask(Task):
    """Training of a language model on the targets of pairs; their sources are not looked at.

    Args:
        window: 0 if the targets are sentences; their ends are learned and counted. Else they are texts that go on,
            measured in windows of so many symbols (see `LanguageModel.measure`).
        order: of the n-gram model beside which the figure is put; 0 for none.
    """

    window: int = 0
    order: int = 0

    @property
    def monitor(self) -> str:
        """Bits a symbol of a long text, perplexity of sentences."""
        return "bits" if self.window else "perplexity"

    def build(self, settings: LanguageSettings, splits: Splits) -> LanguageModel:
        """Rules learned from the training texts, with an id for what is unknown, and a network of their size."""
        train = splits.train if self.window else splits.train[: settings.limit or None]
        learned = SymbolRules.learn(
            (pair.target for pair in train),
            split=settings.split,
            fold=folded(settings.fold),
            vocabulary=settings.vocabulary,
            least=settings.least,
        )
        refuse_few(learned, "vocabulary")
        rules = dataclasses.replace(learned, unknown=True)
        same = ("units", "embedding", "cell", "depth", "dropout", "tied")
        network = LanguageNetwork(rules.size, **{name: getattr(settings, name) for name in same})
        names = ("max_source", "max_target", "temperature", "top_k", "top_p", "beam", "seed")
        return LanguageModel(network, rules, **{name: getattr(settings, name) for name in names})

    def fitting(self, model: LanguageModel, splits: Splits, settings: LanguageSettings) -> list[Pair]:
        """All of a long text; of sentences those that are not too long."""
        if self.window:
            symbols = sum(len(model.stream(pair.target)) for pair in splits.train)
            if symbols < settings.stretch:
                raise ValueError(f"train: expected at least {settings.stretch} symbols (stretch). Received: {symbols}")
            return list(splits.train)
        train = splits.train[: settings.limit or None]
        kept = [pair for pair in train if len(model.source.rules.tokens(pair.target)) <= model.max_source]
        if len(kept) < len(train):
            warnings.warn(f"{len(train) - len(kept)} of {len(train)} training sentences are too long", stacklevel=2)
        return kept

    def steps(self, model: LanguageModel, pairs: Sequence[Pair], settings: LanguageSettings) -> int:
        """Steps of an epoch; of a long text `limit` counts the stretches."""
        if not self.window:
            return super().steps(model, pairs, settings)
        stretches = sum(len(model.stream(pair.target)) for pair in pairs) // settings.stretch
        return max(min(stretches, settings.limit or stretches) // settings.batch, 1)

    def batches(
        self, model: LanguageModel, pairs: Sequence[Pair], settings: LanguageSettings, epoch: int
    ) -> tf.data.Dataset:
        """Sentences of about the same length, or stretches that begin at another place in every epoch."""
        seed = settings.seed + epoch  # a resumed run repeats no order
        if self.window:
            ids = np.concatenate([model.stream(pair.target) for pair in pairs])
            return _stretches(ids, settings.stretch, settings.batch, self.steps(model, pairs, settings), seed)
        _, targets = encode(pairs, model.source, model.source)
        return batches((tf.zeros([targets.shape[0], 1], tf.int32), targets), settings.batch, seed=seed)

    def loss(self, settings: LanguageSettings) -> keras.losses.Loss:
        """Cross-entropy of the next symbols."""
        return MaskedCrossEntropy(settings.label_smoothing)

    def measure(
        self,
        model: LanguageModel,
        pairs: Sequence[Pair],
        notes: Mapping[str, str] | None = None,
        quiet: bool = True,
    ) -> Report:
        """Bits a symbol, or perplexity."""
        nats, symbols = model.measure((pair.target for pair in pairs), window=self.window)
        mean = nats / max(symbols, 1)
        value = mean / math.log(2) if self.window else math.exp(mean) if mean < 700 else math.inf
        return Report({self.monitor: value})

    def beside(self, model: LanguageModel, train: Sequence[Pair], pairs: Sequence[Pair]) -> dict[str, float]:
        """The same figure of an n-gram model of the training sentences, with the model's vocabulary."""
        if not self.order:
            return {}
        rules = model.source.rules
        rival = KneserNey((rules.tokens(pair.target) for pair in train), self.order, rules.symbols)
        return {f"kneser_ney_{self.order}": rival.perplexity(rules.tokens(pair.target) for pair in pairs)}


def _stretches(ids: np.ndarray, length: int, size: int, steps: int, seed: int) -> tf.data.Dataset:
    """`steps` batches an epoch of `size` stretches of a text `[symbols]`, cut anew and in another order every epoch."""
    text = tf.constant(ids, tf.int32)
    count = max(len(ids) // length, 1)
    size = min(size, count)

    def example(rows: tf.Tensor) -> tuple[Arrays, tf.Tensor]:
        targets = tf.reshape(tf.gather(text, rows[:, None] + tf.range(length)), [size, length])
        shifted = tf.concat([tf.fill([size, 1], BEGIN), targets[:, :-1]], axis=1)
        return (tf.zeros([size, 0], tf.int32), shifted), targets

    def plan(seeds: tf.Tensor) -> tf.data.Dataset:
        spare = len(ids) - (count - 1) * length  # places where the first stretch may begin
        first = tf.random.stateless_uniform([], seeds, 0, tf.minimum(spare - length + 1, length), tf.int32)
        starts = first + length * tf.range(count)
        starts = tf.random.experimental.stateless_shuffle(starts, seeds)
        return tf.data.Dataset.from_tensor_slices(tf.reshape(starts[: steps * size], [steps, size]))

    seeds = tf.data.Dataset.random(seed=seed, rerandomize_each_iteration=True).batch(2).take(1)
    rows = seeds.flat_map(plan).apply(tf.data.experimental.assert_cardinality(steps))
    return rows.map(example).prefetch(4)
