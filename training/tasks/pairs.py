"""Text to text: encoder-decoders on pairs, measured by their answers or by how probable the right ones are to them."""

import dataclasses
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.encoder import Encoder
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.models import EncoderDecoder, Seq2Seq
from seqattn_tf.models.seq2seq import MARGIN
from seqattn_tf.training.data import DataWarning, Example, Examples
from seqattn_tf.training.metrics import Metric
from seqattn_tf.training.tasks.base import Report, Task, Training, loss_of, parse_fold, refuse_few, without_beam
from seqattn_tf.training.tasks.settings import EmbeddingSettings, SearchSettings, TableColumns, TextSettings, setting
from seqattn_tf.training.vectors import read_vectors

_MOST_CUT = 0.01  # of the training targets may be longer than an answer, before it is said


@dataclasses.dataclass(frozen=True)
class PairSettings(SearchSettings, EmbeddingSettings, TextSettings):
    """Settings of an encoder-decoder."""

    encoder: str = setting("bidirectional", "or forward, hierarchical, or one of a plug-in")
    field: str = setting("", "what reads the source, of a plug-in; empty for what the encoder takes")
    embedding_stddev: float = setting(0.0, "standard deviation of embeddings before training; 0 for Glorot's")
    residual: bool = setting(True, "whether the outputs of an encoder's layer are added to those of the next")
    decoder: str = setting("bahdanau", "or luong, stacked, or one of a plug-in")
    context: str = setting("attention", "what the decoder sees of the source: attention, input, state")
    bridge: str = setting("all", "which first states of the decoder are made from what was read: all, first")
    score: str = setting(
        "additive", "or general, scaled_general, dot, scaled_dot, cosine, location, coverage, ..., or one of a plug-in"
    )
    align: str = setting(
        "softmax", "or sigmoid, sparsemax, entmax, crf, segments, monotonic, hard, or one of a plug-in"
    )
    gate: bool = setting(False, "whether the decoder says how much of the context to read")
    scheduled_sampling: float = setting(0.0, "how often the decoder sees its own symbol in training")
    source_split: str = setting("characters", "what a symbol is: characters, letters, spaces, words, subwords")
    target_split: str = setting("characters", "the same of what comes out; spaces for tokens of one's own")
    max_target: int = setting(64, "symbols; a longer answer is cut, and not learned from")
    direction: str = setting("left_to_right", "or right_to_left: the last symbol of an answer is said first")
    max_length_ratio: int = setting(
        2, "symbols of an answer per symbol read, at most, and a few more; 0 for no such limit"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "max_target")
        self._refuse_less(0, "embedding_stddev")


@dataclasses.dataclass(frozen=True)
class TableSettings(TableColumns, PairSettings):
    """Settings of an encoder-decoder on pairs of one's own."""


@dataclasses.dataclass(frozen=True)
class PairTask(Task[PairSettings, Seq2Seq]):
    """Training of an encoder-decoder on pairs; without metrics, perplexity alone is measured, and nothing answered."""

    metrics: Sequence[Metric] = ()

    @property
    def monitor(self) -> str:
        """The figure that picks the best epoch."""
        return super().monitor if self.metrics else "perplexity"

    @property
    def higher_is_better(self) -> bool:
        """Whether more of that figure is better."""
        return super().higher_is_better if self.metrics else False

    def build(self, settings: PairSettings, train: Examples) -> Seq2Seq:
        """Vocabularies learned from the training pairs, and a network of their sizes."""
        limits: dict[str, Any] = {"vocabulary": settings.vocabulary, "min_count": settings.min_count}
        taken = Encoder.member(settings.encoder).takes
        kind = Field.member(settings.field or taken)
        if not issubclass(kind, Field.member(taken)) or not hasattr(kind, "learn"):
            raise ValueError(
                f"field: expected one like {taken!r}, which the encoder reads. Received: {settings.field!r}"
            )
        cut = {"split": settings.source_split, "fold": parse_fold(settings.fold), "limit": settings.max_source}
        source = kind.learn(train.inputs("text"), **cut, **limits)
        limits |= {"limit": settings.max_target, "direction": settings.direction}
        target = Symbols.learn(train.targets, split=settings.target_split, **limits)
        if not self.metrics:  # what the model has no word for is counted as unknown, not left out
            target = Symbols(dataclasses.replace(target.rules, unknown=True), target.limit, target.direction)
        vectors = read_vectors(settings)
        if vectors is not None:
            source, settings = vectors.widen(source, settings)
        for side, rules in (("source", source.rules), ("target", target.rules)):
            refuse_few(rules, f"{side} vocabulary")
        own = arguments_of(Encoder.member(settings.encoder), settings)
        arguments = {**own, **arguments_of(EncoderDecoder.of_symbols, settings)}
        arguments["embedding_dropout"] = settings.embedding_rate
        network = EncoderDecoder.of_symbols(target_vocabulary=target.rules.size, **{**arguments, **source.sizes})
        if vectors is not None:
            vectors.begin(network, source.rules)
        return Seq2Seq(network, {"text": source}, target, **arguments_of(Seq2Seq, settings))

    def check(self, training: Training[PairSettings, Seq2Seq]) -> None:
        """Whether answers may be as long as the right ones are."""
        [read], said = training.columns.inputs.values(), training.columns.target.lengths[training.rows]
        longest = training.model.longest_answer(read.lengths[training.rows])
        cut = int(np.sum(said > longest))
        if cut > len(said) * _MOST_CUT:
            ratio = training.model.max_length_ratio
            enough = math.ceil(np.max((said - MARGIN) / np.maximum(read.lengths[training.rows], 1)))
            warnings.warn(
                f"max_length_ratio={ratio}: {cut} of {len(said)} training targets are longer than an answer may be, "
                f"which is {ratio} symbols per symbol read and {MARGIN} more; "
                f"--set max_length_ratio={enough} lets all of them be said, 0 leaves max_target alone to decide",
                DataWarning,
                stacklevel=2,
            )

    def quick(self, model: Seq2Seq) -> Seq2Seq:
        """The same without a beam."""
        return without_beam(model)

    def measure(
        self, model: Seq2Seq, examples: Sequence[Example], notes: Mapping[str, str] | None = None, quiet: bool = True
    ) -> Report:
        """The figures of the answers; without metrics, `exp` of the cross-entropy of the right symbols and ends."""
        if self.metrics:
            return super().measure(model, examples, notes, quiet)
        mean, symbols = loss_of(model, examples)
        return Report({"perplexity": float(np.exp(mean)) if symbols else math.inf})
