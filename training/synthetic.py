"""Synthetic inputs that look like real ones, as additional inputs for a teacher.

Most words are crossovers: the beginning of one word, continued with the end of another that has the same letters at the
same position. Letter by letter, they are about as probable as real words. Words with one or two changed letters, words
with an affix and compounds are less probable, and rarer.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from seqattn_tf.training.data import Examples, Splits

SHARES = {"crossover": 0.8, "edited": 0.1, "joined": 0.1}  # shares of the attempts, by method
SHARED = (1, 2, 3)  # how many letters before the cut the words of a crossover share, equally often
_AFFIXES = 60  # the number of most frequent prefixes, and of suffixes
_QUANTILE = 0.995  # the maximum length, as a quantile of the lengths of the training words
_PATIENCE = 10_000  # consecutive attempts without a new word, after which no more are expected
_VOWELS = frozenset("aeiouy")
_BLOCK = 4096  # random numbers per draw


def synthesize_words(splits: Splits, count: int, seed: int) -> list[Mapping[str, Any]]:
    """Return this many rows with an input `text`, without duplicates or words from any split, ignoring case.

    There are fewer if the training words do not suffice. The rows depend only on the splits and the seed, and a larger
    count extends the same list.
    """
    trained, *held_out = (Examples.of(part).inputs("text") for part in (splits.train, splits.dev, splits.test))
    words = WordMaker(trained, seed)
    known = {word.casefold() for word in chain(trained, *held_out)}
    made: list[Mapping[str, Any]] = []
    failed = 0
    while len(made) < count and failed < _PATIENCE:
        word = words.make()
        if (folded := word.casefold()) in known or not words.fits(word):
            failed += 1
            continue
        failed = 0
        known.add(folded)
        made.append({"text": word})
    return made


class WordMaker:
    """A generator of words that resemble given words. It may return known words.

    Args:
        words: The real words.
        seed: The seed of all random choices.

    >>> WordMaker(["walk", "walking", "talk"], 0).suffixes
    ['ing']
    """

    def __init__(self, words: Iterable[str], seed: int) -> None:
        self.words = [word for word in dict.fromkeys(words) if len(word) > 1]
        if not self.words:
            raise ValueError("words: expected words of at least two letters to generate others from. Received: none")
        self.longest = int(np.quantile([len(word) for word in self.words], _QUANTILE, method="higher"))
        self.short = [word for word in self.words if 2 * len(word) <= self.longest]
        self.prefixes, self.suffixes = _affixes(self.words)
        self._ends = _ends(self.words)
        self._letters = "".join(self.words)  # with duplicates, so that frequent letters are drawn more often
        self._like = _by_kind(self._letters)
        self._draw = _draws(seed).__next__

    def make(self) -> str:
        """Return a word of any kind, with the frequencies in `SHARES`."""
        draw = self._draw()
        if draw < SHARES["crossover"]:
            return self.crossover()
        return self.edited() if draw < SHARES["crossover"] + SHARES["edited"] else self.joined()

    def fits(self, word: str) -> bool:
        """Return whether a word is as long as real ones and has single spaces only, none of them at an end."""
        return 2 <= len(word) <= self.longest and word == word.strip() and "  " not in word

    def crossover(self) -> str:
        """Join the beginning of one word and the end of another (or the same), both cut after the same letters."""
        word = self._one(self.words)
        cut, shared = self._place(1, len(word)), self._one(SHARED)
        return word[:cut] + self._one(self._ends[cut, word[max(cut - shared, 0) : cut]])

    def edited(self) -> str:
        """Return a word after one or two edits."""
        word = self._edit(self._one(self.words))
        return word if self._draw() < 0.5 else self._edit(word)

    def joined(self) -> str:
        """Return a word with a frequent prefix or suffix, or two short words."""
        way, word = self._place(0, 3), self._one(self.words)
        if way == 0 and self.prefixes:
            return self._one(self.prefixes) + word
        if way == 1 and self.suffixes:
            return word + self._one(self.suffixes)
        return self._one(self.short) + self._one(self.short) if self.short else word

    def _edit(self, word: str) -> str:
        """Replace a letter by one of its kind, delete one, insert one, or swap two adjacent letters."""
        way, at = self._place(0, 4), self._place(0, len(word))
        before, letter, after = word[:at], word[at : at + 1], word[at + 1 :]
        if way == 0:
            return before + self._one(self._like[_kind(letter)]) + after
        if way == 1 and len(word) > 1:
            return before + after
        if way == 2:
            return before + self._one(self._letters) + letter + after
        return before + after[:1] + letter + after[1:]

    def _place(self, start: int, end: int) -> int:
        return start + int(self._draw() * (end - start))

    def _one(self, among: Sequence[Any]) -> Any:
        return among[int(self._draw() * len(among))]


def _draws(seed: int) -> Iterator[float]:
    """Yield random numbers in [0, 1) indefinitely."""
    random = np.random.default_rng(seed)
    while True:
        yield from random.random(_BLOCK).tolist()


def _ends(words: Iterable[str]) -> dict[tuple[int, str], list[str]]:
    """Return the ends of words after a cut, by its position and the one to three letters before it."""
    ends: dict[tuple[int, str], list[str]] = {}
    for word in words:
        for cut in range(1, len(word)):
            for letters in {word[max(cut - shared, 0) : cut] for shared in SHARED}:
                ends.setdefault((cut, letters), []).append(word[cut:])
    return ends


def _affixes(words: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the prefixes of two to four letters and suffixes of one to four that most often extend another word."""
    known = set(words)
    prefixes: Counter[str] = Counter()
    suffixes: Counter[str] = Counter()
    for word in words:
        prefixes.update(word[:size] for size in (2, 3, 4) if word[size:] in known)
        suffixes.update(word[-size:] for size in (1, 2, 3, 4) if word[:-size] in known)
    return [affix for affix, _ in prefixes.most_common(_AFFIXES)], [
        affix for affix, _ in suffixes.most_common(_AFFIXES)
    ]


def _kind(letter: str) -> str:
    """Return whether a letter without its accents is a Latin vowel, another letter, or no letter."""
    if unicodedata.normalize("NFD", letter.casefold())[:1] in _VOWELS:
        return "vowel"
    return "consonant" if letter.isalpha() else "mark"


def _by_kind(letters: str) -> dict[str, str]:
    """Group letters by kind, including duplicates."""
    kinds = {letter: _kind(letter) for letter in set(letters)}
    found: dict[str, list[str]] = {}
    for letter in letters:
        found.setdefault(kinds[letter], []).append(letter)
    return {kind: "".join(held) for kind, held in found.items()}
