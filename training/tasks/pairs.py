"""Text to text: encoder-decoders on pairs, measured by their answers or by how probable the right ones are to them."""

import dataclasses
import math
import warnings
from collections.abc import Callable, Mapping, Sequence

import keras
import numpy as np
import tensorflow as tf
from tqdm import tqdm

from seqattn_tf.answer import Answer
from seqattn_tf.models import EncoderDecoder, Model, Seq2Seq
from seqattn_tf.text import SymbolRules
from seqattn_tf.training.data import Pair, Splits
from seqattn_tf.training.data.batches import batches, encode
from seqattn_tf.training.data.pairs import TURN, group_targets
from seqattn_tf.training.metrics import MaskedCrossEntropy, nbest_accuracy
from seqattn_tf.training.tasks.base import Report, Settings, Task, folded, refuse_few

MOST_CUT = 0.01  # of the training targets may be longer than an answer, before it is said
Metric = Callable[[Mapping[str, str], Mapping[str, Sequence[str]]], dict[str, float]]


@dataclasses.dataclass(frozen=True)
class PairSettings(Settings):
    """Settings of an encoder-decoder."""

    encoder: str = "bidirectional"  # or forward, hierarchical
    decoder: str = "bahdanau"  # or luong
    context: str = "attention"  # or input, state: what the decoder sees of the source
    score: str = "additive"
    align: str = "softmax"
    gate: bool = False  # whether the decoder says how much of the context to read
    sampling: float = 0.0  # how often the decoder sees its own symbol in training
    source: str = ""  # language, column or key of what goes in
    target: str = ""  # and of what comes out
    test: str = "test"  # what the name of the test files holds
    source_split: str = "characters"  # or letters, spaces, words, subwords
    target_split: str = "characters"
    fold: str = ""  # what to ignore in what goes in: case, or all (case and accents)
    vocabulary: int = 0  # at most so many symbols on either side; 0 for all
    least: int = 1  # a symbol seen less often in the training data is unknown
    max_source: int = 64  # symbols; a longer source is refused
    max_target: int = 64  # symbols; a longer answer is cut
    growth: int = 2  # the most symbols of an answer for each one read, beside a few
    beam: int = 1
    alternatives: int = 0  # other answers beside the best
    length_penalty: float = 0.0


@dataclasses.dataclass(frozen=True)
class PairTask(Task):
    """Training of an encoder-decoder on pairs.

    Args:
        metrics: functions of `(answers, references)`; none: perplexity alone, without answering anything.
        monitor: the figure that picks the best epoch.
        rising: whether more of it is better.
        nbest: for how many of the best answers to say how often one of them is right.
        groups: functions of `(answers, references, notes)` to `(label, count, value)` rows, by title.
        ordered: whether the training pairs stand in an order, of which every epoch takes the next part.
    """

    metrics: Sequence[Metric] = ()
    monitor: str = "perplexity"
    rising: bool = False
    nbest: Sequence[int] = ()
    groups: Mapping[str, Callable] = dataclasses.field(default_factory=dict)
    ordered: bool = False

    def build(self, settings: PairSettings, splits: Splits) -> Seq2Seq:
        """Rules learned from the training pairs, and a network of their sizes."""
        train = splits.train[: settings.limit or None]
        limits = {"vocabulary": settings.vocabulary, "least": settings.least}
        source = SymbolRules.learn(
            (pair.source for pair in train), split=settings.source_split, fold=folded(settings.fold), **limits
        )
        target = SymbolRules.learn((pair.target for pair in train), split=settings.target_split, **limits)
        if not self.metrics:  # what the model has no word for is counted as unknown, not left out
            target = dataclasses.replace(target, unknown=True)
        for side, rules in (("source", source), ("target", target)):
            refuse_few(rules, f"{side} vocabulary")
        same = ("units", "embedding", "cell", "depth", "dropout", "encoder", "decoder", "context")
        same += ("score", "align", "gate", "sampling")
        network = EncoderDecoder(
            source.size,
            target.size,
            turn_mark=_turn_mark(source) if settings.encoder == "hierarchical" else 0,
            **{name: getattr(settings, name) for name in same},
        )
        names = ("max_source", "max_target", "growth", "beam", "alternatives", "length_penalty")
        return Seq2Seq(network, source, target, **{name: getattr(settings, name) for name in names})

    def fitting(self, model: Seq2Seq, splits: Splits, settings: PairSettings) -> list[Pair]:
        """What is too long is left out of training and said; in the other splits it is refused before training."""
        for name, part in (("development", splits.dev), ("test", splits.test)):
            for pair in part:
                if (length := len(model.source.rules.tokens(pair.source))) > model.max_source:
                    raise ValueError(
                        f"{name} split: expected at most {model.max_source} symbols (max_source). "
                        f"Received: {length}, {pair.source!r:.80}"
                    )
        train = splits.train[: settings.limit or None]
        kept, cut = [], 0
        for pair in train:
            read, said = len(model.source.rules.tokens(pair.source)), len(model.target.rules.tokens(pair.target))
            if read <= model.max_source and said <= model.max_target:
                kept.append(pair)
                cut += said > model.longest_answer(read)
        if cut > len(kept) * MOST_CUT:
            message = f"growth: {cut} of {len(kept)} training targets are longer than an answer to their source may be"
            warnings.warn(message, stacklevel=2)
        if len(kept) < len(train):
            warnings.warn(f"{len(train) - len(kept)} of {len(train)} training pairs are too long", stacklevel=2)
        if self.ordered and len(kept) < settings.epochs:
            raise ValueError(f"train: expected a pair for each of {settings.epochs} epochs. Received: {len(kept)}")
        return kept

    def steps(self, model: Seq2Seq, pairs: Sequence[Pair], settings: Settings) -> int:
        """Steps of an epoch; of ordered pairs, one epoch sees its part alone."""
        return super().steps(model, self._part(pairs, 0, settings.epochs), settings)

    def _part(self, pairs: Sequence[Pair], epoch: int, epochs: int) -> Sequence[Pair]:
        if not self.ordered:
            return pairs
        size = max(len(pairs) // epochs, 1)
        return pairs[epoch * size : (epoch + 1) * size]

    def batches(self, model: Seq2Seq, pairs: Sequence[Pair], settings: Settings, epoch: int) -> tf.data.Dataset:
        """Batches by length, in an order that a resumed run does not repeat."""
        if not self.ordered:
            return batches(encode(pairs, model.source, model.target), settings.batch, seed=settings.seed + epoch)
        parts = [
            batches(encode(self._part(pairs, e, settings.epochs), model.source, model.target), settings.batch, seed=e)
            for e in range(epoch, settings.epochs)
        ]
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.concatenate(part)
        return whole

    def loss(self, settings: Settings) -> keras.losses.Loss:
        """Cross-entropy of the right symbols."""
        return MaskedCrossEntropy(settings.label_smoothing)

    def quick(self, model: Seq2Seq) -> Seq2Seq:
        """The same without a beam."""
        limits = {"max_source": model.max_source, "max_target": model.max_target, "growth": model.growth}
        return Seq2Seq(model.network, model.source.rules, model.target.rules, **limits)

    def measure(
        self, model: Seq2Seq, pairs: Sequence[Pair], notes: Mapping[str, str] | None = None, quiet: bool = True
    ) -> Report:
        """The figures; any listed target of a source is right."""
        if not self.metrics:
            return Report({"perplexity": perplexity(model, pairs)})
        references = group_targets(pairs)
        found = answer_all(model, list(references), quiet=quiet)
        said = {source: answer.text for source, answer in found.items()}
        figures = {name: value for metric in self.metrics for name, value in metric(said, references).items()}
        if nbest := [n for n in self.nbest if 1 < n <= model.alternatives + 1]:
            ranked = {source: [a.text, *(text for text, _ in a.alternatives)] for source, a in found.items()}
            figures |= nbest_accuracy(ranked, references, nbest)
        return Report(figures, {title: rows(said, references, notes or {}) for title, rows in self.groups.items()})


def _turn_mark(rules: SymbolRules) -> int:
    """The id of what stands between two turns."""
    mark = rules.tokens(TURN)[-1]
    if mark not in rules.ids:
        raise ValueError(f"encoder: expected sources with turns, {TURN!r} between them. Received: none with it")
    return rules.ids[mark]


def answer_all(model: Model, sources: Sequence[str], batch: int = 256, quiet: bool = True) -> dict[str, Answer]:
    """The model's answer to every source; batched by length, with a bar unless `quiet`."""
    order = sorted(sources, key=len)
    chunks = [order[i : i + batch] for i in range(0, len(order), batch)]
    answers: dict[str, Answer] = {}
    for chunk in tqdm(chunks, unit="batch", disable=quiet):
        answers.update(zip(chunk, model.answer(chunk), strict=True))
    return answers


def perplexity(model: Seq2Seq, pairs: Sequence[Pair], batch: int = 64) -> float:
    """`exp` of the cross-entropy per symbol of the right answers, their ends included."""
    total = count = 0.0
    forward = tf.function(lambda inputs: model.network(inputs, training=False), reduce_retracing=True)
    for inputs, targets in batches(encode(pairs, model.source, model.target), batch):
        kept = float(tf.math.count_nonzero(targets))
        total += float(MaskedCrossEntropy()(targets, forward(inputs))) * kept
        count += kept
    return float(np.exp(total / count)) if count else math.inf
