"""A sentence as words, in the vocabulary of a model and in that of a parser."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.lite.fields.text import Text
from seqattn_tf.lite.fields.words import LETTERS, Words
from seqattn_tf.lite.text.rules import SymbolRules


class ParsedWords(Words):
    """One text, as the ids of its words in two vocabularies, and of the letters of each word.

    Args:
        rules: The conversion of text to words, with their vocabulary.
        parsed: The rules of a parser, which must cut text into the same words.
        letters: The parser's vocabulary of characters.
        limit: The maximum number of words; longer texts are rejected.
        max_word_length: The number of letters of a word that the parser reads.

    >>> rules, parsed = (SymbolRules(known, "tokens", True, unknown=True) for known in (("a", "dog"), ("dog",)))
    >>> words = ParsedWords(rules, parsed, SymbolRules(tuple("adgo")), limit=9, max_word_length=3)
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
        max_word_length: int = LETTERS,
    ) -> None:
        super().__init__(rules, letters, limit, max_word_length)
        if parsed.tokenizer != rules.tokenizer:
            raise ValueError(
                f"rules: expected the parser's tokenizer, {parsed.tokenizer!r}. Received: {rules.tokenizer!r}"
            )
        self.parsed = parsed

    @classmethod
    def learn(cls, texts: Iterable[Any], **limits: Any) -> "ParsedWords":
        """Raise an error, because the field also needs a parser; see `beside`."""
        raise ValueError(
            "parser: expected a parser for the words. Received: none; in the recipe entail, use --set parser=parse"
        )

    @classmethod
    def beside(cls, rules: SymbolRules, parser: Words, limit: int) -> "ParsedWords":
        """Create the field from a vocabulary and the field of a parser, whose limit it does not exceed."""
        return cls(rules, parser.rules, parser.letters, min(limit, parser.limit), parser.max_word_length)

    def numbers(self, words: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the arrays of `Words`, and the ids of the words in the parser's vocabulary, `[words]`."""
        return {**super().numbers(words), "parsed_ids": Text(self.parsed).word_ids(words)}

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "parsed": self.parsed.get_config()}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "ParsedWords":
        rules, parsed, letters = (SymbolRules.from_config(config[name]) for name in ("rules", "parsed", "letters"))
        return cls(rules, parsed, letters, config["limit"], config["max_word_length"])
