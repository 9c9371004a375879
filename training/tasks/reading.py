"""What trainings of systems share that read one text and answer at once."""

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeVar

import keras
import numpy as np

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.encoder import Encoder
from seqattn_tf.lite.fields import Field, Text
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.training.tasks.base import Training, parse_fold, refuse_few
from seqattn_tf.training.tasks.settings import TextSettings, setting
from seqattn_tf.training.vectors import Vectors, read_vectors

AnySettings = TypeVar("AnySettings", bound=TextSettings)


@dataclasses.dataclass(frozen=True)
class ReadingSettings(TextSettings):
    """Settings of a system that reads one text."""

    encoder: str = setting("bidirectional", "or one by another name")
    split: str = setting("tokens", "what a symbol is: tokens, spaces, words, characters, ...")
    fold: str = "case"
    min_count: int = 2
    max_source: int = 160
    label_smoothing: float = 0.0


@dataclasses.dataclass(frozen=True)
class WordSettings(ReadingSettings):
    """Settings of a system that answers for each word."""

    encoder: str = setting("words", "or bidirectional, forward, or one of a plug-in that gives a value for each word")
    filters: int = setting(48, "numbers that stand for the spelling of a word")
    letter_embedding: int = setting(32, "numbers that stand for a letter")
    word_length: int = setting(16, "letters of a word that are read")
    word: str = setting("form", "column of the words: its name in CoNLL-U, or its number; form is the first elsewhere")


def check_places(training: Training) -> None:
    """Refuse a target with more or fewer parts than its text has words: a text that is cut another way than it was."""
    [read], said = training.columns.inputs.values(), training.columns.target.lengths
    training.model.network.encoder.check_one_each()
    wrong = np.flatnonzero(read.lengths != said)
    if len(wrong):
        example = training.splits.train[int(wrong[0])]
        raise ValueError(
            f"train: expected as many words as right answers. Received: {read.lengths[wrong[0]]} and "
            f"{said[wrong[0]]} of {example.key!r:.80}; encoder=words leaves words as they are"
        )


def learn_field(
    kind: Any, settings: AnySettings, split: str, texts: Iterable[Any]
) -> tuple[Any, AnySettings, Vectors | None]:
    """The field of a kind with the vocabulary of texts, that of word vectors beside it; settings by these, and them."""
    limits = {"vocabulary": settings.vocabulary, "min_count": settings.min_count}
    cut = {"split": split, "fold": parse_fold(settings.fold), "limit": settings.max_source}
    field = kind.learn(texts, **{**arguments_of(kind.learn, settings), **cut, **limits})
    refuse_few(field.rules, "vocabulary")
    field = field.with_rules(dataclasses.replace(field.rules, unknown=True))  # unknown words have an answer, too
    vectors = read_vectors(settings)
    if vectors is not None:
        field, settings = vectors.widen(field, settings)
    return field, settings, vectors


@dataclasses.dataclass(frozen=True)
class Reads:
    """The field of a system that reads, and what reads it."""

    field: Text
    encoder: Encoder
    vectors: Vectors | None

    @classmethod
    def learn(cls, settings: ReadingSettings, texts: Iterable[Any]) -> "Reads":
        """Vocabularies of the texts, and an encoder of their sizes."""
        member = Encoder.member(settings.encoder)
        field, settings, vectors = learn_field(Field.member(member.takes), settings, settings.split, texts)
        arguments: dict[str, Any] = {}
        for base in reversed(member.__mro__):
            if issubclass(base, Encoder):
                arguments |= arguments_of(base, settings)
        return cls(field, member(**{**arguments, **field.sizes}), vectors)

    @property
    def rules(self) -> SymbolRules:
        """Of the words."""
        return self.field.rules

    def begin(self, network: keras.Model) -> keras.Model:
        """The network itself, begun with word vectors where there are any."""
        if self.vectors is not None:
            self.vectors.begin(network, self.rules)
        return network
