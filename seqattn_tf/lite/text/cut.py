"""Texts cut into tokens once, however often their vocabulary, their lengths and their ids are asked for."""

import dataclasses
import functools
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, overload

import numpy as np

from seqattn_tf.lite.text import lines, pieces
from seqattn_tf.lite.text.rules import SymbolRules


class Stretches(NamedTuple):
    """Ids of many texts in a row, and where each begins; the last number is where all end."""

    ids: np.ndarray  # [symbols]
    starts: np.ndarray  # [texts + 1]

    @property
    def lengths(self) -> np.ndarray:
        """Number of symbols of each text."""
        return np.diff(self.starts)

    def reversed(self) -> "Stretches":
        """Each text from its end.

        >>> Stretches(np.array([3, 4, 5, 6]), np.array([0, 3, 3, 4])).reversed().ids.tolist()
        [5, 4, 3, 6]
        """
        ends = np.repeat(
            self.starts[:-1] + self.starts[1:] - 1, self.lengths
        )  # of both, what a place and its own add up to
        return Stretches(self.ids[ends - np.arange(len(self.ids))], self.starts)


class Cut:
    """Tokens of many texts: every distinct token has a number, every text is a stretch of numbers.

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
        """The same texts with every token under another name; several may come to have one."""
        found = Cut([[name(token) for token in self.tokens]])
        numbers = found.flat
        found.flat, found.starts = numbers[self.flat], self.starts
        return found

    @property
    def counts(self) -> Counter:
        """How often each token stands in the texts."""
        return Counter(dict(zip(self.tokens, np.bincount(self.flat, minlength=len(self.tokens)).tolist(), strict=True)))

    def encode(self, rules: SymbolRules) -> Stretches:
        """The ids of the texts; of subwords, each distinct word is cut into its pieces once."""
        if rules.split != "subwords":
            known = np.array([rules.ids.get(token, rules.default) for token in self.tokens], np.int32)
            return Stretches(known[self.flat], self.starts)
        cuts = [pieces.cut(token, rules.ids) for token in self.tokens]
        sizes = np.array([len(cut) for cut in cuts], np.int64)
        first = np.concatenate([[0], np.cumsum(sizes)])
        known = np.array([rules.ids.get(piece, rules.default) for cut in cuts for piece in cut], np.int32)
        ends = np.concatenate([[0], np.cumsum(sizes[self.flat])])
        inside = np.arange(ends[-1]) - np.repeat(ends[:-1], sizes[self.flat])
        return Stretches(known[np.repeat(first[self.flat], sizes[self.flat]) + inside], ends[self.starts])


def cutter(
    split: str, fold: bool | str = False, by_lines: bool = False, sentences: bool = False
) -> Callable[[str], list[str]]:
    """What cuts a text as rules of this `split` and `fold` do, subwords into their words.

    >>> cutter("spaces", "case")("A b")
    ['a', 'b']
    """
    rules = SymbolRules((), "words" if split == "subwords" else split, fold)
    return functools.partial(lines.tokens, rules, sentences=sentences) if by_lines else rules.tokens


class Texts(Sequence[str]):
    """A list of texts that remembers how it was cut.

    >>> texts = Texts(["a b", "c"])
    >>> texts.cut("spaces") is texts.cut("spaces")
    True
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = texts if isinstance(texts, list) else list(texts)
        self._cuts: dict[tuple[str, bool | str, bool, bool], Cut] = {}

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Texts":
        """The texts themselves where they remember already."""
        return texts if isinstance(texts, cls) else cls(texts)

    def cut(self, split: str, fold: bool | str = False, by_lines: bool = False, sentences: bool = False) -> Cut:
        """The texts cut as rules of this `split` and `fold` do, subwords into their words; once."""
        key = ("words" if split == "subwords" else split, fold, by_lines, sentences)
        if key not in self._cuts:
            self._cuts[key] = Cut(map(cutter(*key), self))
        return self._cuts[key]

    def counts(self, split: str, fold: bool | str = False, by_lines: bool = False, sentences: bool = False) -> Counter:
        """How often each symbol stands in the texts, cut that way."""
        return self.cut(split, fold, by_lines, sentences).counts

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
    split: str = "characters",
    fold: bool | str = False,
    vocabulary: int = 0,
    min_count: int = 1,
    by_lines: bool = False,
    sentences: bool = False,
) -> SymbolRules:
    """The rules whose vocabulary comes from `texts`, the most frequent symbol first.

    Args:
        texts: what to learn from.
        split, fold: as of the rules.
        vocabulary: at most so many symbols; 0 for all. Of subwords, about so many.
        min_count: a symbol seen less often is left out; then, or when there are too many, what is left out is unknown.
        by_lines: whether the mark between two lines is a symbol.
        sentences: whether a sentence is a line of its own.

    >>> learn(["abab", "b"], vocabulary=1)
    SymbolRules(symbols=('b',), split='characters', fold=False, unknown=True)
    """
    counts = Texts.of(texts).counts(split, fold, by_lines, sentences)
    return learn_from(counts, SymbolRules((), split, fold), vocabulary, min_count, by_lines)


def learn_from(
    counts: Counter, bare: SymbolRules, vocabulary: int = 0, min_count: int = 1, by_lines: bool = False
) -> SymbolRules:
    """The same from how often each token was seen; `bare` says how text is cut, and whether there is always an id for
    what is unknown."""
    for name, value, bound in (("vocabulary", vocabulary, 0), ("min_count", min_count, 1)):
        if value < bound:
            raise ValueError(f"{name}: expected at least {bound}. Received: {value}")
    if bare.split == "subwords":
        if vocabulary < 1:
            raise ValueError(f"vocabulary: expected a size for subwords. Received: {vocabulary}")
        mark = [lines.MARK] if counts.pop(lines.MARK, 0) else []
        symbols = mark + pieces.learn(counts, vocabulary)
    else:
        ranked = sorted(counts, key=lambda symbol: (-counts[symbol], symbol))
        symbols = [symbol for symbol in ranked if symbol and counts[symbol] >= min_count][: vocabulary or None]
        symbols += [lines.MARK] if by_lines and lines.MARK in counts and lines.MARK not in symbols else []
    unknown = bare.unknown or bare.split == "subwords" or len(symbols) < len(counts)
    return dataclasses.replace(bare, symbols=tuple(symbols), unknown=unknown)
