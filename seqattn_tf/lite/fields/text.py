"""A text as symbols."""

import random
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from seqattn_tf.core.registry import check_count
from seqattn_tf.lite.fields.base import Field
from seqattn_tf.lite.text.cut import RaggedIds, Texts, learn
from seqattn_tf.lite.text.rules import JOINS, UNKNOWN, SymbolRules

MADE_UP = 12  # the maximum number of symbols of a random text


class Text(Field):
    """One text, as the ids of its symbols.

    Args:
        rules: The conversion of text to symbols.
        limit: The maximum number of symbols; longer texts are rejected.

    >>> text = Text(SymbolRules(("a", "b")))
    >>> text.arrays("ba")["ids"].tolist(), text.positions("ba")
    ([4, 3], ('b', 'a'))
    """

    name_in_registry = "text"
    by_lines = split_sentences = False

    def __init__(self, rules: SymbolRules, limit: int = 64) -> None:
        self.rules, self.limit = rules, check_count("limit", limit)

    @classmethod
    def learn(
        cls,
        texts: Iterable[str],
        *,
        limit: int = 64,
        tokenizer: str = "characters",
        lowercase: bool = False,
        strip_accents: bool = False,
        **limits: Any,
    ) -> "Text":
        """Create the field with a vocabulary from texts, limited by `vocabulary` and `min_count`; see `text.learn`."""
        return cls(learn(cls.texts(texts), tokenizer, lowercase, strip_accents, by_lines=cls.by_lines, **limits), limit)

    @property
    def sizes(self) -> dict[str, int]:
        """The arguments that an encoder of symbols requires."""
        return {"vocabulary": self.rules.size}

    @classmethod
    def text(cls, value: Any) -> str:
        """Return the value as text, with invalid UTF-8 replaced."""
        return cls.raw(value).decode("utf-8", "replace")

    @classmethod
    def texts(cls, values: Iterable[Any]) -> Texts:
        """Return values as `Texts`, which cache their tokenization."""
        return values if isinstance(values, Texts) else Texts(map(cls.text, values))

    def tokens(self, value: Any) -> list[str]:
        """Return the symbols of a value, including unknown ones."""
        return self.rules.tokens(self.text(value))

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """Return the ids `[symbols]`."""
        tokens = self.tokens(value)
        if len(tokens) > self.limit:
            raise ValueError(f"expected at most {self.limit} symbols. Received: {len(tokens)}")
        return {"ids": np.array([self.rules.ids.get(token, self.rules.default) for token in tokens], np.int32)}

    def word_ids(self, words: Iterable[str]) -> np.ndarray:
        """Return the ids `[words]` of words in their original spelling; words outside the vocabulary are unknown."""
        return np.array([self.rules.ids.get(self.rules.normalise(word), UNKNOWN) for word in words], np.int32)

    def with_rules(self, rules: SymbolRules) -> "Text":
        """Return the same field with another vocabulary."""
        return type(self).from_config({**self.get_config(), "rules": rules.get_config()})

    def positions(self, value: Any, level: str = "") -> tuple[str, ...]:
        """Return the symbols."""
        return tuple(self.tokens(value))

    def stretches(self, values: Iterable[Any]) -> RaggedIds:
        """Return the ids of many values."""
        how = self.rules.tokenizer, self.rules.lowercase, self.rules.strip_accents, self.by_lines, self.split_sentences
        return self.texts(values).cut(*how).encode(self.rules)

    def sample_inputs(self, count: int, seed: int = 0) -> list[str]:
        """Return random texts of 1 to 12 symbols; without a vocabulary, texts of an unknown symbol.

        >>> Text(SymbolRules(("a",))).sample_inputs(2, seed=1)
        ['aaa', 'aa']
        """
        generator = random.Random(seed)
        ids, longest = range(len(self.rules.special), self.rules.size), min(MADE_UP, self.limit)
        if not ids:
            return ["?"] * count
        return [self._fitting(generator.choices(ids, k=generator.randint(1, longest))) for _ in range(count)]

    def _fitting(self, ids: list[int]) -> str:
        """Return the text of as many of the ids as fit, because joined pieces of words may be cut into more pieces."""
        while len(self.tokens(text := self.rules.decode(ids))) > self.limit:
            ids = ids[:-1]
        return text

    def edge_cases(self) -> list[str | bytes]:
        """Return an empty text, unknown symbols alone and between others, invalid UTF-8, and the longest text."""
        unknown = "\ue000"
        between = [JOINS[self.rules.tokenizer]([one, unknown, one]) for one in self.rules.symbols[:1]]
        full = (self.rules.decode([i] * self.limit) for i in range(len(self.rules.special), self.rules.size))
        longest = next((text for text in full if len(self.tokens(text)) == self.limit), "")
        return ["", unknown, b"\xff", longest, *(text for text in between if len(self.tokens(text)) <= self.limit)]

    def get_config(self) -> dict[str, Any]:
        return {"limit": self.limit, "rules": self.rules.get_config()}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Text":
        return cls(SymbolRules.from_config(config["rules"]), config["limit"])
