"""Tokenized texts, cut only once even if their vocabulary, their lengths and their ids are all needed."""

import dataclasses
import functools
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, overload

import numpy as np

from seqattn_tf.lite.text import lines, pieces
from seqattn_tf.lite.text.rules import SymbolRules


class RaggedIds(NamedTuple):
    """The concatenated ids of many texts and the index where each text starts; the last index is the total length."""

    ids: np.ndarray  # [symbols]
    starts: np.ndarray  # [texts + 1]

    @property
    def lengths(self) -> np.ndarray:
        """The number of symbols of each text."""
        return np.diff(self.starts)

    def reversed(self) -> "RaggedIds":
        """Reverse the order of the ids in each text.

        >>> RaggedIds(np.array([3, 4, 5, 6]), np.array([0, 3, 3, 4])).reversed().ids.tolist()
        [5, 4, 3, 6]
        """
        ends = np.repeat(
            self.starts[:-1] + self.starts[1:] - 1, self.lengths
        )  # the sum of an index and its mirror image
        return RaggedIds(self.ids[ends - np.arange(len(self.ids))], self.starts)


class Cut:
    """The tokens of many texts: every distinct token has a number, and every text is a range of numbers.

    >>> cut = Cut([["a", "b"], ["b"]])
    >>> cut.counts
    Counter({'b': 2, 'a': 1})
    >>> cut.encode(SymbolRules(("b", "a"))).ids.tolist()
    [4, 3, 3]
    """

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
        flat, starts = array("i"), array("q", [0])
        for tokens in texts:
            flat.extend(map(numbers.__getitem__, tokens))
            starts.append(len(flat))
        self.tokens = list(numbers)
        self.flat = np.frombuffer(flat, np.int32) if flat else np.zeros(0, np.int32)
        self.starts = np.frombuffer(starts, np.int64)

    def renamed(self, name: Callable[[str], str]) -> "Cut":
        """Return the same texts with renamed tokens; several tokens may get the same name."""
        found = Cut([[name(token) for token in self.tokens]])
        numbers = found.flat
        found.flat, found.starts = numbers[self.flat], self.starts
        return found

    @property
    def counts(self) -> Counter:
        """The number of occurrences of each token in the texts."""
        return Counter(dict(zip(self.tokens, np.bincount(self.flat, minlength=len(self.tokens)).tolist(), strict=True)))

    def encode(self, rules: SymbolRules) -> RaggedIds:
        """Return the ids of the texts. With subwords, each distinct word is split into its pieces only once."""
        if rules.tokenizer != "subwords":
            known = np.array([rules.ids.get(token, rules.default) for token in self.tokens], np.int32)
            return RaggedIds(known[self.flat], self.starts)
        cuts = [pieces.cut(token, rules.ids) for token in self.tokens]
        sizes = np.array([len(cut) for cut in cuts], np.int64)
        first = np.concatenate([[0], np.cumsum(sizes)])
        known = np.array([rules.ids.get(piece, rules.default) for cut in cuts for piece in cut], np.int32)
        ends = np.concatenate([[0], np.cumsum(sizes[self.flat])])
        inside = np.arange(ends[-1]) - np.repeat(ends[:-1], sizes[self.flat])
        return RaggedIds(known[np.repeat(first[self.flat], sizes[self.flat]) + inside], ends[self.starts])


def cutter(
    tokenizer: str,
    lowercase: bool = False,
    strip_accents: bool = False,
    by_lines: bool = False,
    split_sentences: bool = False,
) -> Callable[[str], list[str]]:
    """Return a function that cuts a text as rules with these settings do; subwords are cut only into words.

    >>> cutter("spaces", lowercase=True)("A b")
    ['a', 'b']
    """
    rules = SymbolRules((), "words" if tokenizer == "subwords" else tokenizer, lowercase, strip_accents)
    return functools.partial(lines.tokens, rules, sentences=split_sentences) if by_lines else rules.tokens


class Texts(Sequence[str]):
    """A list of texts that caches its tokenizations.

    >>> texts = Texts(["a b", "c"])
    >>> texts.cut("spaces") is texts.cut("spaces")
    True
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = texts if isinstance(texts, list) else list(texts)
        self._cuts: dict[tuple[str, bool, bool, bool, bool], Cut] = {}

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Texts":
        """Return the texts as `Texts`; an instance is returned unchanged."""
        return texts if isinstance(texts, cls) else cls(texts)

    def cut(
        self,
        tokenizer: str,
        lowercase: bool = False,
        strip_accents: bool = False,
        by_lines: bool = False,
        split_sentences: bool = False,
    ) -> Cut:
        """Cut the texts as rules with these settings do, with subwords cut only into words; the result is cached."""
        key = ("words" if tokenizer == "subwords" else tokenizer, lowercase, strip_accents, by_lines, split_sentences)
        if key not in self._cuts:
            self._cuts[key] = Cut(map(cutter(*key), self))
        return self._cuts[key]

    def counts(
        self,
        tokenizer: str,
        lowercase: bool = False,
        strip_accents: bool = False,
        by_lines: bool = False,
        split_sentences: bool = False,
    ) -> Counter:
        """Return the number of occurrences of each symbol in the texts when cut with these settings."""
        return self.cut(tokenizer, lowercase, strip_accents, by_lines, split_sentences).counts

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self.texts[index]

    def __len__(self) -> int:
        return len(self.texts)


def learn(
    texts: Iterable[str],
    tokenizer: str = "characters",
    lowercase: bool = False,
    strip_accents: bool = False,
    vocabulary: int = 0,
    min_count: int = 1,
    by_lines: bool = False,
    split_sentences: bool = False,
) -> SymbolRules:
    """Return rules whose vocabulary comes from `texts`, with the most frequent symbol first.

    Args:
        texts: The texts that define the vocabulary.
        tokenizer, lowercase, strip_accents: As in the rules.
        vocabulary: The maximum number of symbols; 0 for no limit. With subwords, the approximate number.
        min_count: The minimum number of occurrences. If any symbol is left out by this or by `vocabulary`, there is an
            id for unknown symbols.
        by_lines: Whether the mark between two lines is a symbol.
        split_sentences: Whether each sentence is a separate line.

    >>> learn(["abab", "b"], vocabulary=1)
    SymbolRules(symbols=('b',), tokenizer='characters', lowercase=False, strip_accents=False, unknown=True)
    """
    counts = Texts.of(texts).counts(tokenizer, lowercase, strip_accents, by_lines, split_sentences)
    return learn_from(counts, SymbolRules((), tokenizer, lowercase, strip_accents), vocabulary, min_count, by_lines)


def learn_from(
    counts: Counter, bare: SymbolRules, vocabulary: int = 0, min_count: int = 1, by_lines: bool = False
) -> SymbolRules:
    """Return rules whose vocabulary comes from the counts of tokens, as `learn` does.

    The settings come from `bare`, which also defines whether there is always an id for unknown symbols.
    """
    for name, value, bound in (("vocabulary", vocabulary, 0), ("min_count", min_count, 1)):
        if value < bound:
            raise ValueError(f"{name}: expected at least {bound}. Received: {value}")
    if bare.tokenizer == "subwords":
        if vocabulary < 1:
            raise ValueError(f"vocabulary: expected a positive size for subwords. Received: {vocabulary}")
        mark = [lines.MARK] if counts.pop(lines.MARK, 0) else []
        symbols = mark + pieces.learn(counts, vocabulary)
    else:
        ranked = sorted(counts, key=lambda symbol: (-counts[symbol], symbol))
        symbols = [symbol for symbol in ranked if symbol and counts[symbol] >= min_count][: vocabulary or None]
        symbols += [lines.MARK] if by_lines and lines.MARK in counts and lines.MARK not in symbols else []
    unknown = bare.unknown or bare.tokenizer == "subwords" or len(symbols) < len(counts)
    return dataclasses.replace(bare, symbols=tuple(symbols), unknown=unknown)
