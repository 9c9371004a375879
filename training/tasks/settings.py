"""The settings for training, each with its meaning."""

import dataclasses
import math
import typing
from collections.abc import Sequence
from typing import Any

from seqattn_tf.core.registry import suggest
from seqattn_tf.core.settings import setting
from seqattn_tf.training.data.reading import ReadingRules

_PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings that all tasks share (`--set units=128`). Each task adds its own."""

    units: int = setting(240, "units per layer and direction")
    embedding: int = setting(64, "embedding size of a token")
    cell: str = setting("lstm", "lstm, gru, rnn, ..., or a plug-in")
    depth: int = setting(1, "layers of the encoder, or of the only network")
    dropout: float = setting(0.3, "dropout rate on embeddings, outputs and readout")
    label_smoothing: float = setting(0.1, "probability mass spread evenly over all classes")
    batch_size: int = setting(256, "examples per step")
    batch_tokens: int = setting(
        0, "source and target tokens per step, padding included, instead of batch_size; 0 to use batch_size"
    )
    epochs: int = setting(60, "maximum number of epochs; see patience")
    learning_rate: float = setting(
        2e-3, "peak learning rate of Adam, after a linear warm-up and before a cosine decay to zero"
    )
    warmup_steps: int = setting(800, "steps of the linear warm-up")
    clip_norm: float = setting(1.0, "maximum global gradient norm")
    beta_2: float = setting(0.999, "beta_2 of Adam")
    weight_decay: float = setting(0.0, "weight decay of AdamW")
    gradient_accumulation_steps: int = setting(1, "batches whose gradients are averaged into one update")
    precision: str = setting("float32", "float32, mixed_bfloat16 or mixed_float16; weights stay float32")
    ema_decay: float = setting(
        0.0, "decay of an exponential moving average of the weights, such as .999, which becomes the model; 0 for none"
    )
    patience: int = setting(10, "epochs without improvement on the development split before training stops")
    seed: int = setting(0, "seed of the initial weights, the order of examples and dropout")
    max_examples: int = setting(0, "maximum number of training examples; 0 for all")
    encoding: str = setting("utf-8", "encoding of text files: utf-8, cp1252, utf-16, ...")
    max_bad_rows: float = setting(
        0.01, "maximum fraction of malformed rows, which are skipped; a larger fraction is an error"
    )
    metric: str = setting(
        "",
        "exact, errors, bleu, captions, chrf, rouge, latex, tags, segments, attachment, or a plug-in; empty: default",
    )

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{field.name}: expected a finite number. Received: {value}")
        self._refuse_less(
            1, "units", "embedding", "depth", "batch_size", "epochs", "patience", "gradient_accumulation_steps"
        )
        self._refuse_less(0, "warmup_steps", "max_examples", "batch_tokens", "learning_rate", "seed", "weight_decay")
        if self.precision not in _PRECISIONS:
            near = suggest(self.precision, _PRECISIONS)
            raise ValueError(f"precision: expected one of {_PRECISIONS}. Received: {self.precision!r}{near}")
        if self.clip_norm <= 0:
            raise ValueError(f"clip_norm: expected a number above 0. Received: {self.clip_norm}")
        ReadingRules(self.encoding, self.max_bad_rows)  # raises an error for invalid values
        for name in ("dropout", "label_smoothing", "ema_decay", "beta_2"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(
                    f"{name}: expected a fraction of at least 0 and less than 1. Received: {getattr(self, name)}"
                )

    def _refuse_less(self, bound: int, *names: str) -> None:
        for name in names:
            if getattr(self, name) < bound:
                raise ValueError(f"{name}: expected at least {bound}. Received: {getattr(self, name)}")

    def with_assignments(self, assignments: Sequence[str]) -> "Settings":
        """Return these settings with `name=value` assignments applied.

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
            raise ValueError(
                f"setting: expected NAME=VALUE with one of the names {sorted(kinds)}. Received: {received}"
            )
        if kinds[name] not in (bool, int, float, str):
            raise ValueError(
                f"{name}: expected a setting of bool, int, float or str. Received: a setting of {kinds[name]}"
            )
        try:
            return name, _TRUTH[value.lower()] if kinds[name] is bool else kinds[name](value)
        except (ValueError, KeyError):
            raise ValueError(f"{name}: expected {kinds[name].__name__}. Received: {value!r}") from None

    @classmethod
    def meanings(cls) -> dict[str, str]:
        """Return the meaning of each setting by name; a class that only changes a default inherits the meaning.

        >>> Settings.meanings()["batch_size"]
        'examples per step'
        """
        found: dict[str, str] = {}
        for kind in reversed(cls.__mro__):
            for name, field in vars(kind).get("__dataclass_fields__", {}).items():
                found[name] = field.metadata.get("meaning") or found.get(name, "")
        return found


@dataclasses.dataclass(frozen=True)
class TextSettings(Settings):
    """Settings of a model that reads text."""

    lowercase: bool = setting(False, "convert the input to lower case")
    strip_accents: bool = setting(False, "remove accents from the input")
    vocabulary: int = setting(0, "maximum vocabulary size; 0 for no limit")
    min_count: int = setting(1, "occurrences needed for a token to enter the vocabulary")
    max_source_length: int = setting(64, "maximum source tokens; a longer text is an error, or skipped in training")
    pretrained_embeddings: str = setting("", "file of word vectors: GloVe text, word2vec or .npz; sets embedding")
    max_pretrained_words: int = setting(100_000, "maximum number of words to add from that file")
    freeze_embeddings: bool = setting(False, "keep the pretrained embeddings fixed during training")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "max_source_length")
        self._refuse_less(0, "max_pretrained_words")


@dataclasses.dataclass(frozen=True)
class EmbeddingSettings:
    """A setting for a dropout rate of symbol embeddings that differs from the general one."""

    embedding_dropout: float = setting(-1.0, "dropout rate on embeddings; negative for the same as dropout")

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]  # defined by the settings class that follows in the MRO
        if self.embedding_dropout >= 1:
            raise ValueError(f"embedding_dropout: expected a fraction less than 1. Received: {self.embedding_dropout}")

    @property
    def embedding_rate(self) -> float | None:
        """The dropout rate in the form that networks expect: None for the general rate."""
        return self.embedding_dropout if self.embedding_dropout >= 0 else None


@dataclasses.dataclass(frozen=True)
class SearchSettings:
    """Settings of the search for the best answer, for models that generate symbol by symbol."""

    beam_width: int = setting(1, "hypotheses kept per step of beam search; 1 for greedy search")
    alternatives: int = setting(0, "additional answers to return, fewer than beam_width")
    length_penalty: float = setting(0.0, "exponent of the length penalty in beam search; larger prefers longer answers")


@dataclasses.dataclass(frozen=True)
class CaptionWords:
    """Settings of the symbols of captions."""

    target_tokenizer: str = setting("words", "token type of captions: words, subwords, characters, spaces")
    min_count: int = setting(1, "occurrences needed for a token to enter the vocabulary")
    max_target_length: int = setting(40, "maximum caption tokens; longer captions are cut and not used for training")

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]  # defined by the settings class that follows in the MRO
        self._refuse_less(1, "min_count", "max_target_length")  # type: ignore[attr-defined]


@dataclasses.dataclass(frozen=True)
class TableSplit:
    """Settings of how a user's own examples are split."""

    split_column: str = setting("", "column of a single file with train, dev or test; empty to split by hash")
    test: str = setting("test", "part of the name of the test files, where a folder has several")


@dataclasses.dataclass(frozen=True)
class TextTable(TableSplit):
    """Settings of a table of texts, which may be large."""

    stream: str = setting("auto", "stream training data from disk: always, never, or auto (above 64 MB)")


@dataclasses.dataclass(frozen=True)
class TableColumns(TextTable):
    """Settings of a table of texts with a single input."""

    text_column: str = setting("", "column, key or language of the source")
    target_column: str = setting("", "column, key or language of the target")
