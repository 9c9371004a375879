"""A story, a document or a dialog: one text with a sentence or a turn on each line."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seqattn_tf.lite.fields.text import Text
from seqattn_tf.lite.text import SymbolRules, lines


class Lines(Text):
    """One text of several lines, as the ids of its symbols with a mark between two lines; blank lines are ignored.

    A value may also be a list of lines. The positions of attention are symbols, or lines at the level `lines`.

    Args:
        rules: The conversion of text to symbols.
        limit: The maximum number of symbols; longer texts are rejected.
        split_sentences: Whether lines are split into sentences, each of which becomes a line.

    >>> from seqattn_tf.lite.text import SymbolRules
    >>> story = Lines(SymbolRules(("\\n", "a", "b"), "spaces"))
    >>> story.arrays(["a b", "a"])["ids"].tolist(), story.positions("a b\\na", "lines")
    ([4, 5, 3, 4], ('a b', 'a'))
    """

    name_in_registry = "lines"
    widget = "lines"
    by_lines = True

    def __init__(self, rules: SymbolRules, limit: int = 64, split_sentences: bool = False) -> None:
        super().__init__(rules, limit)
        self.split_sentences = split_sentences

    @classmethod
    def learn(
        cls,
        texts: Iterable[Any],
        *,
        limit: int = 64,
        tokenizer: str = "characters",
        lowercase: bool = False,
        strip_accents: bool = False,
        split_sentences: bool = False,
        **limits: Any,
    ) -> "Lines":
        found = super().learn(
            texts,
            limit=limit,
            tokenizer=tokenizer,
            lowercase=lowercase,
            strip_accents=strip_accents,
            split_sentences=split_sentences,
            **limits,
        )
        return cls(found.rules, found.limit, split_sentences)

    @property
    def sizes(self) -> dict[str, int]:
        """The arguments that an encoder of lines requires.

        Raises:
            ValueError: If the vocabulary has no mark, because none of the texts it comes from has two lines.
        """
        if lines.MARK not in self.rules.ids:
            raise ValueError(
                "lines: expected training texts with several lines. Received: single lines only; "
                "use split_sentences=true to make each sentence a line, or encoder=bidirectional"
            )
        return {**super().sizes, "mark": self.rules.ids[lines.MARK]}

    @classmethod
    def raw(cls, value: Any) -> bytes:
        """Return a text or a list of lines as bytes."""
        if isinstance(value, Sequence) and not isinstance(value, str | bytes) and not hasattr(value, "read"):
            value = lines.MARK.join(cls.text(line) for line in value)
        return super().raw(value)

    def tokens(self, value: Any) -> list[str]:
        """Return the symbols of all lines, with marks between lines."""
        return lines.tokens(self.rules, self.text(value), self.split_sentences)

    def positions(self, value: Any, level: str = "") -> tuple[str, ...]:
        """Return the symbols including marks, or the lines."""
        if level == "lines":
            return tuple(lines.split_lines(self.text(value), self.split_sentences))
        return super().positions(value)

    def sample_inputs(self, count: int, seed: int = 0) -> list[str]:
        """Return random texts of one to three lines."""
        symbols = [symbol for symbol in self.rules.symbols if symbol != lines.MARK]
        flat = Text(dataclasses.replace(self.rules, symbols=tuple(symbols)), max((self.limit - 2) // 3, 1))
        parts = flat.sample_inputs(3 * count, seed)
        most = min(3, (self.limit + 1) // 2)  # every line but the last takes at least two symbols, one of them the mark
        return [lines.MARK.join(parts[3 * i : 3 * i + 1 + i % most]) for i in range(count)]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "split_sentences": self.split_sentences}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Lines":
        return cls(SymbolRules.from_config(config["rules"]), config["limit"], config["split_sentences"])
