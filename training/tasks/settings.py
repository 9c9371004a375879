"""Everything about a training that a user may set, each setting with its meaning."""

import dataclasses
import math
import typing
from collections.abc import Sequence
from typing import Any

from seqattn_tf.core.registry import suggest
from seqattn_tf.training.data.reading import ReadingRules

_PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def setting(default: Any, meaning: str) -> Any:
    """A field of `Settings`: what it is where nobody sets it, and what `seqattn train RECIPE --help` says of it."""
    return dataclasses.field(default=default, metadata={"meaning": meaning})


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a user may set (`--set units=128`); a task adds what is its own."""

    units: int = setting(240, "of each direction and each layer")
    embedding: int = setting(64, "numbers that stand for a symbol")
    cell: str = setting("lstm", "lstm, gru, rnn, ..., or one of a plug-in")
    depth: int = setting(1, "layers of the encoder, or of the only network")
    dropout: float = setting(0.3, "on embeddings, outputs and readout")
    label_smoothing: float = setting(0.1, "share of the probability that goes to all symbols alike")
    batch_size: int = setting(256, "examples in a step")
    batch_tokens: int = setting(
        0, "symbols in a step instead, read and said, padding counted; 0 for batch_size examples"
    )
    epochs: int = setting(60, "at most; see patience")
    learning_rate: float = setting(2e-3, "Adam's, at its peak: a linear warm-up before it, a cosine to zero after it")
    warmup_steps: int = setting(800, "steps in which the learning rate rises")
    clip_norm: float = setting(1.0, "the global norm to which a larger gradient is scaled down")
    beta_2: float = setting(0.999, "Adam's, of the squares of gradients")
    weight_decay: float = setting(0.0, "AdamW's: what each step takes off a weight, times the learning rate")
    accumulate: int = setting(1, "batches whose mean gradient makes one update")
    precision: str = setting("float32", "or mixed_bfloat16, mixed_float16: what a step computes in; kept in float32")
    average: float = setting(
        0.0, "share of their running mean that weights keep at each step, such as .999; the model has the mean then"
    )
    patience: int = setting(10, "epochs without a better figure on the development split before training stops")
    seed: int = setting(0, "of the weights, the order of the examples and dropout")
    max_examples: int = setting(0, "to train on, at most; 0 for all")
    encoding: str = setting("utf-8", "of the text files that are read: cp1252, utf-16, ...")
    max_bad_rows: float = setting(0.01, "share of the rows of a file that may be malformed and skipped; else an error")
    metric: str = setting(
        "",
        "exact, errors, bleu, captions, chrf, rouge, markup, tags, segments, attachment, or a plug-in's; "
        "the recipe's if empty",
    )

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{field.name}: expected a finite number. Received: {value}")
        self._refuse_less(1, "units", "embedding", "depth", "batch_size", "epochs", "patience", "accumulate")
        self._refuse_less(0, "warmup_steps", "max_examples", "batch_tokens", "learning_rate", "seed", "weight_decay")
        if self.precision not in _PRECISIONS:
            near = suggest(self.precision, _PRECISIONS)
            raise ValueError(f"precision: expected one of {_PRECISIONS}. Received: {self.precision!r}{near}")
        if self.clip_norm <= 0:
            raise ValueError(f"clip_norm: expected a number above 0. Received: {self.clip_norm}")
        ReadingRules(self.encoding, self.max_bad_rows)  # refuses what they may not be
        for name in ("dropout", "label_smoothing", "average", "beta_2"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}: expected a share from 0 to below 1. Received: {getattr(self, name)}")

    def _refuse_less(self, bound: int, *names: str) -> None:
        for name in names:
            if getattr(self, name) < bound:
                raise ValueError(f"{name}: expected at least {bound}. Received: {getattr(self, name)}")

    def with_assignments(self, assignments: Sequence[str]) -> "Settings":
        """These settings with `name=value` assignments applied.

        >>> Settings().with_assignments(["units=128", "dropout=0"]).units
        128
        """
        return dataclasses.replace(self, **dict(self._parse(text) for text in assignments))

    def _parse(self, text: str) -> tuple[str, Any]:
        name, equals, value = text.partition("=")
        hints = typing.get_type_hints(type(self))
        kinds = {field.name: hints[field.name] for field in dataclasses.fields(self)}
        if not equals or name not in kinds:
            received = f"{text!r}{suggest(name, kinds)}"
            raise ValueError(f"setting: expected NAME=VALUE with a name among {sorted(kinds)}. Received: {received}")
        if kinds[name] not in (bool, int, float, str):
            raise ValueError(f"{name}: expected a setting of bool, int, float or str. Received: one of {kinds[name]}")
        try:
            return name, _TRUTH[value.lower()] if kinds[name] is bool else kinds[name](value)
        except (ValueError, KeyError):
            raise ValueError(f"{name}: expected {kinds[name].__name__}. Received: {value!r}") from None

    @classmethod
    def meanings(cls) -> dict[str, str]:
        """What each setting means, by name; a class that changes a default keeps the meaning.

        >>> Settings.meanings()["batch_size"]
        'examples in a step'
        """
        found: dict[str, str] = {}
        for kind in reversed(cls.__mro__):
            for name, field in vars(kind).get("__dataclass_fields__", {}).items():
                found[name] = field.metadata.get("meaning") or found.get(name, "")
        return found


@dataclasses.dataclass(frozen=True)
class TextSettings(Settings):
    """Settings of a system that reads text."""

    fold: str = setting("", "what to ignore in what goes in: case, or all (case and accents)")
    vocabulary: int = setting(0, "symbols, at most; 0 for all")
    min_count: int = setting(1, "a symbol seen less often in the training data is unknown")
    max_source: int = setting(64, "symbols; a longer text is refused, and not learned from")
    vectors: str = setting("", "a file of word vectors to begin with: GloVe text, word2vec, or .npz; sets embedding")
    vector_words: int = setting(100_000, "words of that file that are added to those of the training data, at most")
    fixed_vectors: bool = setting(False, "whether word vectors stay as they are while the rest learns")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "max_source")
        self._refuse_less(0, "vector_words")


@dataclasses.dataclass(frozen=True)
class EmbeddingSettings:
    """Of symbols of which fewer or more numbers are dropped out than elsewhere."""

    embedding_dropout: float = setting(-1.0, "on the embeddings of symbols; below 0 for as much as dropout")

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]  # of the settings that this goes before
        if self.embedding_dropout >= 1:
            raise ValueError(f"embedding_dropout: expected a share below 1. Received: {self.embedding_dropout}")

    @property
    def embedding_rate(self) -> float | None:
        """The same as networks take it: None for as much as elsewhere."""
        return self.embedding_dropout if self.embedding_dropout >= 0 else None


@dataclasses.dataclass(frozen=True)
class SearchSettings:
    """Of answers that are said symbol by symbol: how the best one is searched."""

    beam_width: int = setting(1, "answers that are kept at every step; 1 for the best symbol alone")
    alternatives: int = setting(0, "other answers beside the best, fewer than beam_width")
    length_penalty: float = setting(0.0, "how much a longer answer is preferred among those of a beam")


@dataclasses.dataclass(frozen=True)
class TableSplit:
    """Of examples of one's own: what is held out."""

    split_column: str = setting("", "column of a single file that says train, dev or test; empty to split by a hash")
    test: str = setting("test", "what the name of the test files holds, where a folder has several")


@dataclasses.dataclass(frozen=True)
class TextTable(TableSplit):
    """The same of texts, of which there may be many."""

    stream: str = setting("auto", "whether training data stay on disk: always, never, or auto, above 64 MB")


@dataclasses.dataclass(frozen=True)
class TableColumns(TextTable):
    """The same, and which column is what, where one text goes in."""

    text: str = setting("", "column, key or language of what goes in")
    target: str = setting("", "column, key or language of what comes out")
