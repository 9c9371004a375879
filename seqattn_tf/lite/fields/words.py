"""A sentence as words and as the letters of each word."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.core.registry import check_count
from seqattn_tf.lite.fields.text import Text
from seqattn_tf.lite.text import lines
from seqattn_tf.lite.text.cut import Cut, learn_from
from seqattn_tf.lite.text.rules import PAD, SPACES, SymbolRules

LETTERS = 16  # the default number of letters of a word that are read
_NO_BREAK = "\u00a0"
SPACED = f"[^{SPACES}][ \t\v\f\r]+[^{SPACES}]"  # a line of several words
_SPACED, _BLANKS = re.compile(SPACED), re.compile(f"[{SPACES}]+")


class Words(Text):
    """One text, as the ids of its words and of the letters of each; letters keep their case.

    The rules cut a text into words. A text of several lines without blanks inside them has one word per line instead,
    as in column files, and its words are not cut further. A list of words is treated like such a text; blanks inside a
    word become non-breaking ones.

    Args:
        rules: The conversion of text to words, with their vocabulary, which must have an id for unknown words.
        letters: The vocabulary of characters.
        limit: The maximum number of words; longer texts are rejected.
        max_word_length: The number of letters of a word that are read; of longer words, the first and the last.

    >>> words = Words(SymbolRules(("the", "dog"), "tokens", True, unknown=True), SymbolRules(tuple("Tdegho")), 9, 4)
    >>> words.positions("The dog."), words.positions(["a.", "The"])
    (('The', 'dog', '.'), ('a.', 'The'))
    >>> {name: array.tolist() for name, array in words.arrays("The cats").items()}
    {'ids': [4, 3], 'letters': [[3, 7, 5, 0], [0, 0, 0, 0]]}
    """

    name_in_registry = "words"

    def __init__(
        self, rules: SymbolRules, letters: SymbolRules, limit: int = 128, max_word_length: int = LETTERS
    ) -> None:
        super().__init__(rules, limit)
        if not rules.unknown:
            raise ValueError(
                "rules: expected a vocabulary with an id for unknown words. Received: a vocabulary without it"
            )
        self.letters, self.max_word_length = letters, check_count("max_word_length", max_word_length)

    @classmethod
    def learn(
        cls,
        texts: Iterable[Any],
        *,
        limit: int = 128,
        tokenizer: str = "tokens",
        lowercase: bool = True,
        strip_accents: bool = False,
        max_word_length: int = LETTERS,
        **limits: Any,
    ) -> "Words":
        """Create the field with vocabularies from texts; `vocabulary` and `min_count` limit that of words."""
        bare = SymbolRules((), tokenizer, lowercase, strip_accents, unknown=True)
        cut = cls(bare, SymbolRules((), unknown=True), limit).cut(texts)
        rules = learn_from(cut.renamed(bare.normalise).counts, bare, **limits)
        seen = sorted({letter for word in cut.tokens for letter in word})
        return cls(rules, SymbolRules(tuple(seen), unknown=True), limit, max_word_length)

    @property
    def sizes(self) -> dict[str, int]:
        """The arguments that an encoder of words requires."""
        return {**super().sizes, "letters": self.letters.size}

    @classmethod
    def raw(cls, value: Any) -> bytes:
        """Return a text or a list of words as bytes."""
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            words = [cls.text(word).strip(SPACES) for word in value]
            if wrong := [word for word in words if not word or lines.MARK in word]:
                raise ValueError(f"expected non-empty words without line breaks. Received: {wrong[0]!r:.80}")
            value = "".join(f"{_BLANKS.sub(_NO_BREAK, word)}{lines.MARK}" for word in words)
        return super().raw(value)

    def tokens(self, value: Any) -> list[str]:
        """Return the words in their original spelling."""
        text = self.text(value).replace("\0", "\ufffd")
        if lines.MARK in text and not _SPACED.search(text):
            return lines.split_lines(text)
        return SymbolRules((), self.rules.tokenizer).tokens(text)

    def cut(self, values: Iterable[Any]) -> Cut:
        """Return the words of many values."""
        return Cut(map(self.tokens, values))

    def spelled(self, words: Sequence[str]) -> np.ndarray:
        """Return the ids of the letters of each word: `[words, max_word_length]`."""
        found = np.full([len(words), self.max_word_length], PAD, np.int32)
        for row, word in zip(found, words, strict=True):
            ids = [self.letters.ids.get(letter, self.letters.default) for letter in self.shortened(word)]
            row[: len(ids)] = ids
        return found

    def shortened(self, word: str) -> str:
        """Return a word without its middle if it is too long to be read completely.

        >>> Words(SymbolRules((), unknown=True), SymbolRules(()), max_word_length=5).shortened("abcdefgh")
        'abfgh'
        """
        front = self.max_word_length // 2
        return word if len(word) <= self.max_word_length else word[:front] + word[front - self.max_word_length :]

    def numbers(self, words: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the ids of words, `[words]`, and of their letters, `[words, max_word_length]`."""
        return {"ids": self.word_ids(words), "letters": self.spelled(words)}

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """Return the ids of the words and of their letters."""
        words = self.tokens(value)
        if len(words) > self.limit:
            raise ValueError(f"expected at most {self.limit} words. Received: {len(words)}")
        return self.numbers(words)

    def display(self, value: Any) -> bytes:
        """Return running text if it is cut into the same words, and otherwise the value."""
        words = self.tokens(value)
        together = " ".join(words)
        return super().display(together if self.tokens(together) == words else value)

    def get_config(self) -> dict[str, Any]:
        own = {"letters": self.letters.get_config(), "max_word_length": self.max_word_length}
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Words":
        rules, letters = (SymbolRules.from_config(config[name]) for name in ("rules", "letters"))
        return cls(rules, letters, config["limit"], config["max_word_length"])
