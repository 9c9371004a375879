"""A task that maps text to text with an encoder-decoder, evaluated by its answers or by perplexity."""

import dataclasses
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.decoders import DecoderOptions
from seqattn_tf.encoders import Encoder
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.models import EncoderDecoder, Seq2Seq
from seqattn_tf.models.seq2seq import MARGIN
from seqattn_tf.training.data import DataWarning, Example, Examples
from seqattn_tf.training.metrics import Metric, perplexity
from seqattn_tf.training.pretrained_embeddings import read_vectors
from seqattn_tf.training.tasks.base import Report, Task, Training, losses_of, refuse_few, without_beam
from seqattn_tf.training.tasks.settings import EmbeddingSettings, SearchSettings, TableColumns, TextSettings, setting

_MOST_CUT = 0.01  # the share of the training targets that may exceed the length of an answer without a warning


@dataclasses.dataclass(frozen=True)
class PairSettings(SearchSettings, EmbeddingSettings, DecoderOptions, TextSettings):
    """Settings of an encoder-decoder."""

    encoder: str = setting("bidirectional", "bidirectional, forward, hierarchical, or a plug-in")
    field: str = setting("", "source field of a plug-in; empty for the one that the encoder needs")
    embedding_stddev: float = setting(0.0, "standard deviation of the initial embeddings; 0 for Glorot's")
    residual: bool = setting(True, "add residual connections between encoder layers")
    source_tokenizer: str = setting("characters", "source token type: characters, letters, spaces, words, subwords")
    target_tokenizer: str = setting(
        "characters", "target token type, as source_tokenizer; spaces for pre-tokenized text"
    )
    max_target_length: int = setting(
        64, "maximum target tokens; longer training targets are skipped, longer answers are cut"
    )
    direction: str = setting("left_to_right", "left_to_right, or right_to_left to generate the last token first")
    max_length_ratio: int = setting(2, "maximum answer length per source position, plus a margin; 0 for no such limit")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "max_target_length")
        self._refuse_less(0, "embedding_stddev")


@dataclasses.dataclass(frozen=True)
class TableSettings(TableColumns, PairSettings):
    """Settings of an encoder-decoder on a table of text pairs."""


@dataclasses.dataclass(frozen=True)
class PairTask(Task[PairSettings, Seq2Seq]):
    """Training of an encoder-decoder on pairs. Without metrics, only perplexity is measured and nothing is decoded."""

    metrics: Sequence[Metric] = ()

    @property
    def monitor(self) -> str:
        """The name of the value that selects the best epoch."""
        return super().monitor if self.metrics else "perplexity"

    @property
    def higher_is_better(self) -> bool:
        """Whether higher values of `monitor` are better."""
        return super().higher_is_better if self.metrics else False

    def build(self, settings: PairSettings, train: Examples) -> Seq2Seq:
        limits: dict[str, Any] = {"vocabulary": settings.vocabulary, "min_count": settings.min_count}
        taken = Encoder.member(settings.encoder).field_type
        kind = Field.member(settings.field or taken)
        if not issubclass(kind, Field.member(taken)) or not hasattr(kind, "learn"):
            raise ValueError(
                f"field: expected a field of type {taken!r}, which the encoder needs. Received: {settings.field!r}"
            )
        cut = {
            "tokenizer": settings.source_tokenizer,
            "lowercase": settings.lowercase,
            "strip_accents": settings.strip_accents,
            "limit": settings.max_source_length,
        }
        source = kind.learn(train.inputs("text"), **cut, **limits)
        limits |= {"limit": settings.max_target_length, "direction": settings.direction}
        target = Symbols.learn(train.targets, tokenizer=settings.target_tokenizer, **limits)
        if not self.metrics:  # count unknown words as such, instead of leaving them out
            target = Symbols(dataclasses.replace(target.rules, unknown=True), target.limit, target.direction)
        vectors = read_vectors(settings)
        if vectors is not None:
            source, settings = vectors.widen(source, settings)
        for side, rules in (("source", source.rules), ("target", target.rules)):
            refuse_few(rules, f"{side} vocabulary")
        arguments: dict[str, Any] = {}
        for made in (Encoder.member(settings.encoder), DecoderOptions, EncoderDecoder.of_symbols):
            arguments |= arguments_of(made, settings)
        arguments["embedding_dropout"] = settings.embedding_rate
        network = EncoderDecoder.of_symbols(target_vocabulary=target.rules.size, **{**arguments, **source.sizes})
        if vectors is not None:
            vectors.begin(network, source.rules)
        return Seq2Seq(network, {"text": source}, target, **arguments_of(Seq2Seq, settings))

    def check(self, training: Training[PairSettings, Seq2Seq]) -> None:
        """Warn if the limit on the length of answers is below the length of some targets."""
        [read], said = training.columns.inputs.values(), training.columns.target.lengths[training.rows]
        longest = training.model.max_answer_length(read.lengths[training.rows])
        cut = int(np.sum(said > longest))
        if cut > len(said) * _MOST_CUT:
            ratio = training.model.max_length_ratio
            enough = math.ceil(np.max((said - MARGIN) / np.maximum(read.lengths[training.rows], 1)))
            warnings.warn(
                f"max_length_ratio={ratio}: {cut} of {len(said)} training targets are longer than an answer "
                f"can be ({ratio} tokens per source token, plus {MARGIN}); "
                f"use --set max_length_ratio={enough} to allow all of them, or 0 to use max_target_length only",
                DataWarning,
                stacklevel=2,
            )

    def fast_variant(self, model: Seq2Seq) -> Seq2Seq:
        return without_beam(model)

    def measure(
        self, model: Seq2Seq, examples: Sequence[Example], notes: Mapping[str, str] | None = None, quiet: bool = True
    ) -> Report:
        """Return the metrics of the answers or, without metrics, the perplexity of the targets including their ends."""
        if self.metrics:
            return super().measure(model, examples, notes, quiet)
        return Report({}).and_tally(perplexity(losses_of(model, examples)))
