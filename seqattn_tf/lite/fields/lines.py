"""A story, a document or a dialog: one text, a sentence or a turn a line."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seqattn_tf.lite.fields.text import Text
from seqattn_tf.lite.text import SymbolRules, lines


class Lines(Text):
    """One text of several lines, as the ids of its symbols with a mark between two lines; blank lines are nothing.

    A value may also be a list of its lines. Attention may point at symbols, or at the level `lines`.

    Args:
        rules: how text becomes symbols.
        limit: texts with more symbols are refused.
        sentences: whether a line is cut into its sentences, each being a line of its own.

    >>> from seqattn_tf.lite.text import SymbolRules
    >>> story = Lines(SymbolRules(("\\n", "a", "b"), "spaces"))
    >>> story.arrays(["a b", "a"])["ids"].tolist(), story.places("a b\\na", "lines")
    ([4, 5, 3, 4], ('a b', 'a'))
    """

    name_in_registry = "lines"
    kind = "lines"
    by_lines = True

    def __init__(self, rules: SymbolRules, limit: int = 64, sentences: bool = False) -> None:
        super().__init__(rules, limit)
        self.sentences = sentences

    @classmethod
    def learn(
        cls,
        texts: Iterable[Any],
        *,
        limit: int = 64,
        split: str = "characters",
        fold: bool | str = False,
        sentences: bool = False,
        **limits: Any,
    ) -> "Lines":
        """As of any text."""
        found = super().learn(texts, limit=limit, split=split, fold=fold, sentences=sentences, **limits)
        return cls(found.rules, found.limit, sentences)

    @property
    def sizes(self) -> dict[str, int]:
        """What an encoder of lines needs to know.

        Raises:
            ValueError: the vocabulary has no mark: no text it was learned from has two lines.
        """
        if lines.MARK not in self.rules.ids:
            raise ValueError(
                "lines: expected texts of several lines to learn from. Received: none with two; sentences=true makes a "
                "line of each sentence, and encoder=bidirectional needs none"
            )
        return {**super().sizes, "mark": self.rules.ids[lines.MARK]}

    @classmethod
    def raw(cls, value: Any) -> bytes:
        """A text, or a list of lines."""
        if isinstance(value, Sequence) and not isinstance(value, str | bytes) and not hasattr(value, "read"):
            value = lines.MARK.join(cls.text(line) for line in value)
        return super().raw(value)

    def tokens(self, value: Any) -> list[str]:
        """The symbols of all lines, and the marks between them."""
        return lines.tokens(self.rules, self.text(value), self.sentences)

    def places(self, value: Any, level: str = "") -> tuple[str, ...]:
        """The symbols with the marks, or the lines."""
        if level == "lines":
            return tuple(lines.split_lines(self.text(value), self.sentences))
        return super().places(value)

    def made_up(self, count: int, seed: int = 0) -> list[str]:
        """Texts of one to three lines, as long as texts of one line are."""
        symbols = [symbol for symbol in self.rules.symbols if symbol != lines.MARK]
        flat = Text(dataclasses.replace(self.rules, symbols=tuple(symbols)), max((self.limit - 2) // 3, 1))
        parts = flat.made_up(3 * count, seed)
        most = min(3, (self.limit + 1) // 2)  # a line of one symbol takes two, but for the last
        return [lines.MARK.join(parts[3 * i : 3 * i + 1 + i % most]) for i in range(count)]

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "sentences": self.sentences}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Lines":
        """The field of these constructor arguments."""
        return cls(SymbolRules.from_config(config["rules"]), config["limit"], config.get("sentences", False))
