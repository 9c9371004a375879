"""Symbols: a text, said one symbol after the other."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.core.registry import check_count
from seqattn_tf.lite.targets.base import Target
from seqattn_tf.lite.text.cut import Stretches, Texts, learn
from seqattn_tf.lite.text.rules import JOINS, PAD, SymbolRules

_LEFT_TO_RIGHT, _RIGHT_TO_LEFT = "left_to_right", "right_to_left"
_DIRECTIONS = (_LEFT_TO_RIGHT, _RIGHT_TO_LEFT)


class Symbols(Target):
    """A text of symbols; found are `tokens [batch, answers, length]`, ids with zeros after the last.

    Args:
        rules: how text becomes symbols and back.
        limit: the most symbols of an answer.
        direction: in which a network learns and says them: `"left_to_right"`, or `"right_to_left"`, the last symbol
            first. What a model finds is in the order of reading all the same (see `GraphSymbols.in_order`).

    >>> import numpy as np
    >>> letters = Symbols(SymbolRules(("a", "b")))
    >>> letters.say_row({"tokens": np.array([[4, 3, 0], [3, 0, 0]]), "scores": np.array([-0.5, -1.0])})
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
        split: str = "characters",
        fold: bool | str = False,
        **limits: Any,
    ) -> "Symbols":
        """The target whose vocabulary comes from texts; `vocabulary` and `min_count` limit it, see `text.learn`."""
        return cls(learn(texts, split, fold, by_lines=False, **limits), limit, direction)

    @property
    def backwards(self) -> bool:
        """Whether a network says the last symbol first."""
        return self.direction == _RIGHT_TO_LEFT

    def refuse_backwards(self, what: str) -> None:
        """Refuse to be said from the end by what can only go on from a beginning."""
        if self.backwards:
            raise ValueError(f"target: expected symbols that {what} says {_LEFT_TO_RIGHT}. Received: {self.direction}")

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """The ids as a network learns them: `[symbols]`."""
        ids = np.array(self.rules.encode(value), np.int32)
        return {"tokens": ids[::-1] if self.backwards else ids}

    def stretches(self, texts: Iterable[str]) -> Stretches:
        """The same of many texts; `Texts` are cut once for all that is asked of them."""
        found = Texts.of(texts).cut(self.rules.split, self.rules.fold).encode(self.rules)
        return found.reversed() if self.backwards else found

    def tokens(self, found: Mapping[str, np.ndarray], answer: int) -> list[str]:
        """The symbols of an answer."""
        ids = found["tokens"][answer]
        return self.rules.names(ids[ids != PAD])

    def text(self, tokens: Sequence[str]) -> str:
        """The symbols joined as the rules have it."""
        return JOINS[self.rules.split](tokens)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        direction = {"direction": self.direction} if self.backwards else {}
        return {"limit": self.limit, "rules": self.rules.get_config(), **direction}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Symbols":
        """The target of these constructor arguments."""
        return cls(**{**config, "rules": SymbolRules.from_config(config["rules"])})
