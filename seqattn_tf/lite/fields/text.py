"""A text, read as symbols."""

import random
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from seqattn_tf.core.registry import check_count
from seqattn_tf.lite.fields.base import Field
from seqattn_tf.lite.text.cut import Stretches, Texts, learn
from seqattn_tf.lite.text.rules import JOINS, UNKNOWN, SymbolRules

MADE_UP = 12  # symbols of a made-up text, at most


class Text(Field):
    """One text, as the ids of its symbols.

    Args:
        rules: how text becomes symbols.
        limit: texts with more symbols are refused.

    >>> text = Text(SymbolRules(("a", "b")))
    >>> text.arrays("ba")["ids"].tolist(), text.places("ba")
    ([4, 3], ('b', 'a'))
    """

    name_in_registry = "text"
    by_lines = sentences = False

    def __init__(self, rules: SymbolRules, limit: int = 64) -> None:
        self.rules, self.limit = rules, check_count("limit", limit)

    @classmethod
    def learn(
        cls,
        texts: Iterable[str],
        *,
        limit: int = 64,
        split: str = "characters",
        fold: bool | str = False,
        **limits: Any,
    ) -> "Text":
        """The field whose vocabulary comes from texts; `vocabulary` and `min_count` limit it, see `text.learn`."""
        return cls(learn(cls.texts(texts), split, fold, by_lines=cls.by_lines, **limits), limit)

    @property
    def sizes(self) -> dict[str, int]:
        """What an encoder of symbols needs to know."""
        return {"vocabulary": self.rules.size}

    @classmethod
    def text(cls, value: Any) -> str:
        """The value as text, what is no UTF-8 replaced."""
        return cls.raw(value).decode("utf-8", "replace")

    @classmethod
    def texts(cls, values: Iterable[Any]) -> Texts:
        """Values as texts; `Texts` are cut once for all that is asked of them."""
        return values if isinstance(values, Texts) else Texts(map(cls.text, values))

    def tokens(self, value: Any) -> list[str]:
        """The symbols of a value, known or not."""
        return self.rules.tokens(self.text(value))

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """The ids: `[symbols]`."""
        tokens = self.tokens(value)
        if len(tokens) > self.limit:
            raise ValueError(f"expected at most {self.limit} symbols. Received: {len(tokens)}")
        return {"ids": np.array([self.rules.ids.get(token, self.rules.default) for token in tokens], np.int32)}

    def word_ids(self, words: Iterable[str]) -> np.ndarray:
        """The ids of words that were cut as they are written, what no vocabulary has being unknown: `[words]`."""
        return np.array([self.rules.ids.get(self.rules.normalise(word), UNKNOWN) for word in words], np.int32)

    def with_rules(self, rules: SymbolRules) -> "Text":
        """The same field with another vocabulary."""
        return type(self).from_config({**self.get_config(), "rules": rules.get_config()})

    def places(self, value: Any, level: str = "") -> tuple[str, ...]:
        """The symbols."""
        return tuple(self.tokens(value))

    def stretches(self, values: Iterable[Any]) -> Stretches:
        """The ids of many values."""
        how = self.rules.split, self.rules.fold, self.by_lines, self.sentences
        return self.texts(values).cut(*how).encode(self.rules)

    def made_up(self, count: int, seed: int = 0) -> list[str]:
        """Texts of 1 to 12 of the symbols; of an unknown one where there are none.

        >>> Text(SymbolRules(("a",))).made_up(2, seed=1)
        ['aaa', 'aa']
        """
        generator = random.Random(seed)
        ids, longest = range(len(self.rules.special), self.rules.size), min(MADE_UP, self.limit)
        if not ids:
            return ["?"] * count
        return [self._fitting(generator.choices(ids, k=generator.randint(1, longest))) for _ in range(count)]

    def _fitting(self, ids: list[int]) -> str:
        """The text of as many of the ids as fit: joined, pieces of words may be cut into more."""
        while len(self.tokens(text := self.rules.decode(ids))) > self.limit:
            ids = ids[:-1]
        return text

    def odd(self) -> list[str | bytes]:
        """Nothing, what is in no vocabulary, alone and between others, what is no UTF-8, as much as there may be."""
        unknown = "\ue000"
        between = [JOINS[self.rules.split]([one, unknown, one]) for one in self.rules.symbols[:1]]
        full = (self.rules.decode([i] * self.limit) for i in range(len(self.rules.special), self.rules.size))
        longest = next((text for text in full if len(self.tokens(text)) == self.limit), "")
        return ["", unknown, b"\xff", longest, *(text for text in between if len(self.tokens(text)) <= self.limit)]

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {"limit": self.limit, "rules": self.rules.get_config()}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Text":
        """The field of these constructor arguments."""
        return cls(SymbolRules.from_config(config["rules"]), config["limit"])
