"""The base of tasks whose models read one text and answer in a single step."""

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeVar

import keras
import numpy as np

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.encoders import Encoder
from seqattn_tf.lite.fields import Field, Text
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.training.pretrained_embeddings import Vectors, read_vectors
from seqattn_tf.training.tasks.base import Training, refuse_few
from seqattn_tf.training.tasks.settings import TextSettings, setting

AnySettings = TypeVar("AnySettings", bound=TextSettings)


@dataclasses.dataclass(frozen=True)
class ReadingSettings(TextSettings):
    """Settings of a model that reads one text."""

    encoder: str = setting("bidirectional", "name of the encoder")
    tokenizer: str = setting("tokens", "token type: tokens, spaces, words, characters, ...")
    lowercase: bool = True
    min_count: int = 2
    max_source_length: int = 160
    label_smoothing: float = 0.0


@dataclasses.dataclass(frozen=True)
class WordSettings(ReadingSettings):
    """Settings of a model with an output for each word."""

    encoder: str = setting("words", "words, bidirectional, forward, or a plug-in with one output per word")
    filters: int = setting(48, "filters of the convolution over the letters of a word")
    letter_embedding_dim: int = setting(32, "embedding size of a letter")
    max_word_length: int = setting(16, "letters read per word")
    word_column: str = setting(
        "form", "column of the words: a name in CoNLL-U, or a number; default: form, else the first"
    )


def check_places(training: Training) -> None:
    """Raise an error if the number of parts of a target differs from the number of words of its text."""
    [read], said = training.columns.inputs.values(), training.columns.target.lengths
    training.model.network.encoder.check_one_per_token()
    wrong = np.flatnonzero(read.lengths != said)
    if len(wrong):
        example = training.splits.train[int(wrong[0])]
        raise ValueError(
            f"train: expected one target per word. Received: {read.lengths[wrong[0]]} words and "
            f"{said[wrong[0]]} targets for {example.key!r:.80}; use --set encoder=words, which does not split words"
        )


def learn_field(
    kind: Any, settings: AnySettings, tokenizer: str, texts: Iterable[Any]
) -> tuple[Any, AnySettings, Vectors | None]:
    """Return a field of this kind with the vocabulary of the texts, the updated settings, and word vectors or None.

    With word vectors, their words are added to the vocabulary, and their dimension to the settings.
    """
    limits = {"vocabulary": settings.vocabulary, "min_count": settings.min_count}
    cut = {
        "tokenizer": tokenizer,
        "lowercase": settings.lowercase,
        "strip_accents": settings.strip_accents,
        "limit": settings.max_source_length,
    }
    field = kind.learn(texts, **{**arguments_of(kind.learn, settings), **cut, **limits})
    refuse_few(field.rules, "vocabulary")
    field = field.with_rules(dataclasses.replace(field.rules, unknown=True))  # unknown words need an output, too
    vectors = read_vectors(settings)
    if vectors is not None:
        field, settings = vectors.widen(field, settings)
    return field, settings, vectors


@dataclasses.dataclass(frozen=True)
class FieldAndEncoder:
    """The input field of a model and its encoder."""

    field: Text
    encoder: Encoder
    vectors: Vectors | None

    @classmethod
    def learn(cls, settings: ReadingSettings, texts: Iterable[Any]) -> "FieldAndEncoder":
        """Create a field with the vocabulary of the texts, and an encoder of matching size."""
        member = Encoder.member(settings.encoder)
        field, settings, vectors = learn_field(Field.member(member.field_type), settings, settings.tokenizer, texts)
        arguments: dict[str, Any] = {}
        for base in reversed(member.__mro__):
            if issubclass(base, Encoder):
                arguments |= arguments_of(base, settings)
        return cls(field, member(**{**arguments, **field.sizes}), vectors)

    @property
    def rules(self) -> SymbolRules:
        """The vocabulary of the words."""
        return self.field.rules

    def begin(self, network: keras.Model) -> keras.Model:
        """Return the network, with its embeddings initialized from word vectors if there are any."""
        if self.vectors is not None:
            self.vectors.begin(network, self.rules)
        return network
