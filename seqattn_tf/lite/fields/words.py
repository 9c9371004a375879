"""A sentence, read as words and as the letters of each word."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.core.registry import check_count
from seqattn_tf.lite.fields.text import Text
from seqattn_tf.lite.text import lines
from seqattn_tf.lite.text.cut import Cut, learn_from
from seqattn_tf.lite.text.rules import PAD, SPACES, SymbolRules

LETTERS = 16  # of a word that are read
_NO_BREAK = "\u00a0"
SPACED = f"[^{SPACES}][ \t\v\f\r]+[^{SPACES}]"  # a line of several words
_SPACED, _BLANKS = re.compile(SPACED), re.compile(f"[{SPACES}]+")


class Words(Text):
    """One text, as the ids of its words and of the letters of each; letters keep their case.

    A text is cut into words by its rules. A text of lines without blanks inside has one word a line instead, as column
    files have, and words stay as they are. A list of words is such a text; a blank inside one becomes one that does not
    break.

    Args:
        rules: how text becomes words, and their vocabulary, with an id for unknown words.
        letters: the vocabulary of characters.
        limit: texts with more words are refused.
        word_length: how many letters of a word are read; of a longer one the first and the last.

    >>> words = Words(SymbolRules(("the", "dog"), "tokens", "case", unknown=True), SymbolRules(tuple("Tdegho")), 9, 4)
    >>> words.places("The dog."), words.places(["a.", "The"])
    (('The', 'dog', '.'), ('a.', 'The'))
    >>> {name: array.tolist() for name, array in words.arrays("The cats").items()}
    {'ids': [4, 3], 'letters': [[3, 7, 5, 0], [0, 0, 0, 0]]}
    """

    name_in_registry = "words"

    def __init__(self, rules: SymbolRules, letters: SymbolRules, limit: int = 128, word_length: int = LETTERS) -> None:
        super().__init__(rules, limit)
        if not rules.unknown:
            raise ValueError("rules: expected ones with an id for unknown words. Received: ones without")
        self.letters, self.word_length = letters, check_count("word_length", word_length)

    @classmethod
    def learn(
        cls,
        texts: Iterable[Any],
        *,
        limit: int = 128,
        split: str = "tokens",
        fold: bool | str = "case",
        word_length: int = LETTERS,
        **limits: Any,
    ) -> "Words":
        """The field whose vocabularies come from texts; `vocabulary` and `min_count` limit that of words."""
        bare = SymbolRules((), split, fold, unknown=True)
        cut = cls(bare, SymbolRules((), unknown=True), limit).cut(texts)
        rules = learn_from(cut.renamed(bare.normalise).counts, bare, **limits)
        seen = sorted({letter for word in cut.tokens for letter in word})
        return cls(rules, SymbolRules(tuple(seen), unknown=True), limit, word_length)

    @property
    def sizes(self) -> dict[str, int]:
        """What an encoder of words needs to know."""
        return {**super().sizes, "letters": self.letters.size}

    @classmethod
    def raw(cls, value: Any) -> bytes:
        """A text, or a list of words."""
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            words = [cls.text(word).strip(SPACES) for word in value]
            if wrong := [word for word in words if not word or lines.MARK in word]:
                raise ValueError(f"expected words of one line, none of them empty. Received: {wrong[0]!r:.80}")
            value = "".join(f"{_BLANKS.sub(_NO_BREAK, word)}{lines.MARK}" for word in words)
        return super().raw(value)

    def tokens(self, value: Any) -> list[str]:
        """The words as they are written."""
        text = self.text(value).replace("\0", "\ufffd")
        if lines.MARK in text and not _SPACED.search(text):
            return lines.split_lines(text)
        return SymbolRules((), self.rules.split).tokens(text)

    def cut(self, values: Iterable[Any]) -> Cut:
        """The words of many values."""
        return Cut(map(self.tokens, values))

    def spelled(self, words: Sequence[str]) -> np.ndarray:
        """The ids of the letters of each word: `[words, word_length]`."""
        found = np.full([len(words), self.word_length], PAD, np.int32)
        for row, word in zip(found, words, strict=True):
            ids = [self.letters.ids.get(letter, self.letters.default) for letter in self.shortened(word)]
            row[: len(ids)] = ids
        return found

    def shortened(self, word: str) -> str:
        """A word without its middle, where it is too long to be read whole.

        >>> Words(SymbolRules((), unknown=True), SymbolRules(()), word_length=5).shortened("abcdefgh")
        'abfgh'
        """
        front = self.word_length // 2
        return word if len(word) <= self.word_length else word[:front] + word[front - self.word_length :]

    def numbers(self, words: Sequence[str]) -> dict[str, np.ndarray]:
        """The ids of words, `[words]`, and of their letters, `[words, word_length]`."""
        return {"ids": self.word_ids(words), "letters": self.spelled(words)}

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """The numbers of the words."""
        words = self.tokens(value)
        if len(words) > self.limit:
            raise ValueError(f"expected at most {self.limit} words. Received: {len(words)}")
        return self.numbers(words)

    def shown(self, value: Any) -> bytes:
        """Running text, where it is cut into the same words."""
        words = self.tokens(value)
        together = " ".join(words)
        return super().shown(together if self.tokens(together) == words else value)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        own = {"letters": self.letters.get_config(), "word_length": self.word_length}
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Words":
        """The field of these constructor arguments."""
        rules, letters = (SymbolRules.from_config(config[name]) for name in ("rules", "letters"))
        return cls(rules, letters, config["limit"], config["word_length"])
