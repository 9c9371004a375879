"""Symbols: a text, said one symbol after the other."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from seqattn_tf.named import check_count
from seqattn_tf.targets.base import Target
from seqattn_tf.text.cut import Stretches, Texts, learn
from seqattn_tf.text.rules import JOINS, PAD, SymbolRules

if TYPE_CHECKING:
    from seqattn_tf.targets.graph.symbols import GraphSymbols


class Symbols(Target):
    """A text of symbols; found are `tokens [batch, answers, length]`, ids with zeros after the last.

    Args:
        rules: how text becomes symbols and back.
        limit: the most symbols of an answer.

    >>> import numpy as np
    >>> letters = Symbols(SymbolRules(("a", "b")))
    >>> letters.say_row({"tokens": np.array([[4, 3, 0], [3, 0, 0]]), "scores": np.array([-0.5, -1.0])})
    {'text': 'ba', 'score': -0.5, 'alternatives': (('a', -1.0),), 'tokens': ('b', 'a')}
    """

    name_in_registry = "symbols"
    names = ("tokens",)
    limit: int

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
    ) -> "Symbols":
        """The target whose vocabulary comes from texts; `vocabulary` and `min_count` limit it, see `text.learn`."""
        return cls(learn(texts, split, fold, by_lines=False, **limits), limit)

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """The ids: `[symbols]`."""
        return {"tokens": np.array(self.rules.encode(value), np.int32)}

    def stretches(self, texts: Iterable[str]) -> Stretches:
        """The ids of many texts; `Texts` are cut once for all that is asked of them."""
        return Texts.of(texts).cut(self.rules.split, self.rules.fold).encode(self.rules)

    def tokens(self, found: Mapping[str, np.ndarray], answer: int) -> list[str]:
        """The symbols of an answer."""
        ids = found["tokens"][answer]
        return self.rules.names(ids[ids != PAD])

    def text(self, tokens: Sequence[str]) -> str:
        """The symbols joined as the rules have it."""
        return JOINS[self.rules.split](tokens)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {"limit": self.limit, "rules": self.rules.get_config()}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Symbols":
        """The target of these constructor arguments."""
        return cls(SymbolRules.from_config(config["rules"]), config["limit"])

    def in_graph(self) -> "GraphSymbols":
        """The twin."""
        from seqattn_tf.targets.graph.symbols import GraphSymbols

        return GraphSymbols(self)
