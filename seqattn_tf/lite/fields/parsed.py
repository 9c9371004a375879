"""A sentence, read as words, and as a parser reads it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.lite.fields.text import Text
from seqattn_tf.lite.fields.words import LETTERS, Words
from seqattn_tf.lite.text.rules import SymbolRules


class ParsedWords(Words):
    """One text, as the ids of its words in two vocabularies, and of the letters of each.

    Args:
        rules: how text becomes words, and their vocabulary.
        parsed: the rules of a parser, which cuts text into the same words.
        letters: the parser's vocabulary of characters.
        limit: texts with more words are refused.
        word_length: how many letters of a word the parser reads.

    >>> rules, parsed = (SymbolRules(known, "tokens", "case", unknown=True) for known in (("a", "dog"), ("dog",)))
    >>> words = ParsedWords(rules, parsed, SymbolRules(tuple("adgo")), limit=9, word_length=3)
    >>> {name: array.tolist() for name, array in words.arrays("a dog").items()}
    {'ids': [4, 5], 'letters': [[3, 0, 0], [4, 6, 5]], 'parsed_ids': [3, 4]}
    """

    name_in_registry = "parsed_words"

    def __init__(
        self,
        rules: SymbolRules,
        parsed: SymbolRules,
        letters: SymbolRules,
        limit: int = 128,
        word_length: int = LETTERS,
    ) -> None:
        super().__init__(rules, letters, limit, word_length)
        if parsed.split != rules.split:
            raise ValueError(f"rules: expected words as the parser's, {parsed.split!r}. Received: {rules.split!r}")
        self.parsed = parsed

    @classmethod
    def learn(cls, texts: Iterable[Any], **limits: Any) -> "ParsedWords":
        """Not from texts alone: of a parser, `beside`."""
        raise ValueError("parser: expected one whose words are read, as by parser=parse of entail. Received: none")

    @classmethod
    def beside(cls, rules: SymbolRules, parser: Words, limit: int) -> "ParsedWords":
        """The field of a vocabulary of one's own beside what a parser reads, of no longer texts than it takes."""
        return cls(rules, parser.rules, parser.letters, min(limit, parser.limit), parser.word_length)

    def numbers(self, words: Sequence[str]) -> dict[str, np.ndarray]:
        """Also the ids of words in the vocabulary of the parser, `[words]`."""
        return {**super().numbers(words), "parsed_ids": Text(self.parsed).word_ids(words)}

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "parsed": self.parsed.get_config()}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "ParsedWords":
        """The field of these constructor arguments."""
        rules, parsed, letters = (SymbolRules.from_config(config[name]) for name in ("rules", "parsed", "letters"))
        return cls(rules, parsed, letters, config["limit"], config["word_length"])
