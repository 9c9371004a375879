"""Text to text: encoder-decoders on pairs, measured by their answers or by how probable the right ones are to them."""

import dataclasses
import math
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from seqattn_tf.encoder import Encoder
from seqattn_tf.fields import Field
from seqattn_tf.models import EncoderDecoder, Seq2Seq
from seqattn_tf.named import arguments_of
from seqattn_tf.targets import Symbols
from seqattn_tf.training.data import Example, Examples
from seqattn_tf.training.tasks.base import Metric, Report, Settings, Task, Training, loss_of, parse_fold, refuse_few

MOST_CUT = 0.01  # of the training targets may be longer than an answer, before it is said


@dataclasses.dataclass(frozen=True)
class PairSettings(Settings):
    """Settings of an encoder-decoder."""

    encoder: str = "bidirectional"  # or forward, hierarchical
    decoder: str = "bahdanau"  # or luong
    context: str = "attention"  # or input, state: what the decoder sees of the source
    score: str = "additive"
    align: str = "softmax"
    gate: bool = False  # whether the decoder says how much of the context to read
    scheduled_sampling: float = 0.0  # how often the decoder sees its own symbol in training
    source: str = ""  # language, column or key of what goes in
    target: str = ""  # and of what comes out
    test: str = "test"  # what the name of the test files holds
    source_split: str = "characters"  # or letters, spaces, words, subwords
    target_split: str = "characters"
    fold: str = ""  # what to ignore in what goes in: case, or all (case and accents)
    vocabulary: int = 0  # at most so many symbols on either side; 0 for all
    min_count: int = 1  # a symbol seen less often in the training data is unknown
    max_source: int = 64  # symbols; a longer source is refused
    max_target: int = 64  # symbols; a longer answer is cut
    max_length_ratio: int = 2  # the most symbols of an answer for each one read, beside a few; 0 for max_target alone
    beam_width: int = 1
    alternatives: int = 0  # other answers beside the best
    length_penalty: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "max_source", "max_target")


@dataclasses.dataclass(frozen=True)
class PairTask(Task):
    """Training of an encoder-decoder on pairs; without metrics, perplexity alone is measured, and nothing answered."""

    metrics: Sequence[Metric] = ()
    monitor: str = "perplexity"
    higher_is_better: bool = False

    def build(self, settings: PairSettings, train: Examples) -> Seq2Seq:
        """Vocabularies learned from the training pairs, and a network of their sizes."""
        limits = {"vocabulary": settings.vocabulary, "min_count": settings.min_count}
        kind = Field.member(Encoder.member(settings.encoder).takes)
        cut = {"split": settings.source_split, "fold": parse_fold(settings.fold), "limit": settings.max_source}
        source = kind.learn(train.inputs("text"), **cut, **limits)
        target = Symbols.learn(train.targets, split=settings.target_split, limit=settings.max_target, **limits)
        if not self.metrics:  # what the model has no word for is counted as unknown, not left out
            target = Symbols(dataclasses.replace(target.rules, unknown=True), target.limit)
        for side, rules in (("source", source.rules), ("target", target.rules)):
            refuse_few(rules, f"{side} vocabulary")
        arguments = arguments_of(EncoderDecoder.of_symbols, settings)
        network = EncoderDecoder.of_symbols(target_vocabulary=target.rules.size, **{**arguments, **source.sizes})
        return Seq2Seq(network, {"text": source}, target, **arguments_of(Seq2Seq, settings))

    def check(self, training: Training) -> None:
        """Whether answers may be as long as the right ones are."""
        [read], said = training.columns.inputs.values(), training.columns.target.lengths[training.rows]
        longest = training.model.longest_answer(read.lengths[training.rows])
        cut = int(np.sum(said > longest))
        if cut > len(said) * MOST_CUT:
            message = f"max_length_ratio: {cut} of {len(said)} training targets are longer than an answer may be"
            warnings.warn(message, stacklevel=2)

    def quick(self, model: Seq2Seq) -> Seq2Seq:
        """The same without a beam."""
        return model.with_settings(beam_width=1, alternatives=0, length_penalty=0.0)

    def measure(
        self, model: Seq2Seq, examples: Sequence[Example], notes: Mapping[str, str] | None = None, quiet: bool = True
    ) -> Report:
        """The figures of the answers; without metrics, `exp` of the cross-entropy of the right symbols and ends."""
        if self.metrics:
            return super().measure(model, examples, notes, quiet)
        mean, symbols = loss_of(model, examples)
        return Report({"perplexity": float(np.exp(mean)) if symbols else math.inf})
