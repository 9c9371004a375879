"""Symbols: a text that is generated one symbol at a time."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.core.registry import check_count
from seqattn_tf.lite.targets.base import Target
from seqattn_tf.lite.text.cut import RaggedIds, Texts, learn
from seqattn_tf.lite.text.rules import JOINS, PAD, SymbolRules

_LEFT_TO_RIGHT, _RIGHT_TO_LEFT = "left_to_right", "right_to_left"
_DIRECTIONS = (_LEFT_TO_RIGHT, _RIGHT_TO_LEFT)


class Symbols(Target):
    """A text of symbols; the output is `tokens [batch, answers, length]`, ids with zeros after the last one.

    Args:
        rules: The conversion between text and symbols.
        limit: The maximum number of symbols of an answer.
        direction: The order in which a network is trained on the symbols and generates them: `"left_to_right"`, or
            `"right_to_left"`, with the last symbol first. The outputs of a model are always in reading order (see
            `GraphSymbols.in_order`).

    >>> import numpy as np
    >>> letters = Symbols(SymbolRules(("a", "b")))
    >>> letters.format_row({"tokens": np.array([[4, 3, 0], [3, 0, 0]]), "scores": np.array([-0.5, -1.0])})
    {'text': 'ba', 'score': -0.5, 'alternatives': (('a', -1.0),), 'tokens': ('b', 'a')}
    """

    name_in_registry = "symbols"
    names = ("tokens",)
    limit: int

    def __init__(self, rules: SymbolRules, limit: int = 64, direction: str = _LEFT_TO_RIGHT) -> None:
        if direction not in _DIRECTIONS:
            raise ValueError(f"direction: expected one of {list(_DIRECTIONS)}. Received: {direction!r}")
        self.rules, self.limit, self.direction = rules, check_count("limit", limit), direction

    @classmethod
    def learn(
        cls,
        texts: Iterable[str],
        *,
        limit: int = 64,
        direction: str = _LEFT_TO_RIGHT,
        tokenizer: str = "characters",
        lowercase: bool = False,
        strip_accents: bool = False,
        **limits: Any,
    ) -> "Symbols":
        """Create the target with a vocabulary from texts, limited by `vocabulary` and `min_count`; see `text.learn`."""
        return cls(learn(texts, tokenizer, lowercase, strip_accents, by_lines=False, **limits), limit, direction)

    @property
    def backwards(self) -> bool:
        """Whether a network generates the last symbol first."""
        return self.direction == _RIGHT_TO_LEFT

    def refuse_backwards(self, what: str) -> None:
        """Raise an error if the symbols are generated from right to left, which `what` does not support."""
        if self.backwards:
            raise ValueError(f"target: expected the direction {_LEFT_TO_RIGHT} for {what}. Received: {self.direction}")

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """Return the ids in the order in which a network is trained on them: `[symbols]`."""
        ids = np.array(self.rules.encode(value), np.int32)
        return {"tokens": ids[::-1] if self.backwards else ids}

    def stretches(self, texts: Iterable[str]) -> RaggedIds:
        """Return the ids of many texts in this order; `Texts` cache their tokenization."""
        found = (
            Texts.of(texts).cut(self.rules.tokenizer, self.rules.lowercase, self.rules.strip_accents).encode(self.rules)
        )
        return found.reversed() if self.backwards else found

    def tokens(self, found: Mapping[str, np.ndarray], answer: int) -> list[str]:
        """Return the symbols of an answer."""
        ids = found["tokens"][answer]
        return self.rules.names(ids[ids != PAD])

    def text(self, tokens: Sequence[str]) -> str:
        """Join the symbols as the rules define."""
        return JOINS[self.rules.tokenizer](tokens)

    def get_config(self) -> dict[str, Any]:
        direction = {"direction": self.direction} if self.backwards else {}
        return {"limit": self.limit, "rules": self.rules.get_config(), **direction}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Symbols":
        return cls(**{**config, "rules": SymbolRules.from_config(config["rules"])})
