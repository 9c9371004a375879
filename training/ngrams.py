"""A Kneser-Ney n-gram model, as a baseline for neural language models.

It is interpolated, with three discounts for each order (Chen and Goodman, 1998):

    p(w | h) = max(c(h w) - D(c(h w)), 0) / sum_v c(h v) + g(h) p(w | h'),    h' = h without its first word
    g(h)     = [D1 N1(h) + D2 N2(h) + D3 N3(h)] / sum_v c(h v)

where c counts occurrences in the highest order and after the beginning of a sentence, and otherwise the distinct words
that precede an n-gram; N1, N2 and N3 count the words that follow h once, twice and more often. The model of single
words is interpolated with the uniform distribution over the vocabulary. N-grams are numbered order by order, and an
n-gram is identified by the number of all but its last word together with that word, so that counting and lookup consist
of a few sorts of whole arrays.
"""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

_BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"
FALLBACK = (0.5, 1.0, 1.5)  # discounts if there are too few n-grams to estimate them
Sentence = str | Sequence[str]


@dataclasses.dataclass(frozen=True)
class _Order:
    """The n-grams of one order and the terms of the formula. The last entry (index -1) is 0, for unseen n-grams."""

    keys: np.ndarray  # [n-grams], sorted: number of all but the last word, times the vocabulary, plus the last word
    left: np.ndarray  # [n-grams + 1] count minus discount
    total: np.ndarray  # [contexts + 1] sum of the counts of the words that follow
    spread: np.ndarray  # [contexts + 1] sum of the discounts of the words that follow

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Return the index of each key, or -1 if it is unseen."""
        if not len(self.keys):
            return np.full_like(keys, -1)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, places, -1)


class KneserNey:
    """An n-gram model of sentences.

    Args:
        sentences: Texts with spaces between their words, or lists of words.
        order: The maximum length n of an n-gram.
        vocabulary: The words to distinguish; all others become `<unk>`. None for all words of the sentences.

    >>> model = KneserNey(["a b", "a c", "a b c"], order=3)
    >>> chances = model.probabilities(["a"])
    >>> max(chances, key=chances.get), round(sum(chances.values()), 6)
    ('b', 1.0)
    """

    def __init__(self, sentences: Iterable[Sentence], order: int = 5, vocabulary: Iterable[str] | None = None) -> None:
        if order < 1:
            raise ValueError(f"order: expected at least 1. Received: {order}")
        texts = [_words(sentence) for sentence in sentences]
        if not texts:
            raise ValueError("sentences: expected at least one. Received: none")
        known = dict.fromkeys(word for text in texts for word in text) if vocabulary is None else vocabulary
        self.words = list(dict.fromkeys((_BEGIN, END, UNKNOWN, *known)))
        self.order = order
        self._ids = {word: number for number, word in enumerate(self.words) if word not in (_BEGIN, END)}
        self._orders = self._count(*self._line_up(texts))

    def _line_up(self, texts: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
        """Concatenate all sentences: the words `[words]`, and the number of words that precede each in its sentence."""
        unknown = self._ids[UNKNOWN]
        row: list[int] = []
        depth: list[int] = []
        for text in texts:
            row += [0, *(self._ids.get(word, unknown) for word in text), 1]
            depth += range(len(text) + 2)
        return np.array(row, np.int64), np.array(depth, np.int64)

    def _key(self, before: np.ndarray, words: np.ndarray) -> np.ndarray:
        return np.where(before < 0, -1, before * len(self.words) + words)

    def _count(self, row: np.ndarray, depth: np.ndarray) -> list[_Order]:
        tables: list[list[np.ndarray]] = [[], [], [], []]
        keys, raw, firsts, numbers = tables  # by order; numbers: of the n-gram that ends at each position
        before = np.zeros_like(row)
        for n in range(1, self.order + 1):
            places = np.flatnonzero(depth >= n - 1)
            found, first, inverse, count = np.unique(
                self._key(before, row)[places], return_index=True, return_inverse=True, return_counts=True
            )
            number = np.full_like(row, -1)
            number[places] = inverse.ravel()
            for table, column in zip(tables, (found, count, places[first], number), strict=True):
                table.append(column)
            before = np.concatenate([[-1], number[:-1]])
        orders = []
        for n in range(1, self.order + 1):
            count = raw[n - 1]
            if n < self.order:  # count distinct preceding words, wherever a word can precede
                inside = depth[firsts[n - 1]] >= n
                suffixes = numbers[n - 1][firsts[n]]
                count = np.where(inside, np.bincount(suffixes, minlength=len(count)), count)
            if n == 1:
                count = np.where(keys[0] == 0, 0, count)  # the beginning of a sentence is never predicted
            contexts = 1 if n == 1 else len(keys[n - 2])
            orders.append(_discounted(keys[n - 1], count, keys[n - 1] // len(self.words), contexts))
        return orders

    def _chances(self, before: Sequence[np.ndarray], words: np.ndarray) -> np.ndarray:
        """Evaluate the formula, from the lowest order up.

        Args:
            before: For each order, the index of the context of each word, `[words]`, or -1 if it is unseen.
            words: The words, `[words]`.
        """
        chance = np.full(len(words), 1 / (len(self.words) - 1))  # all words but the beginning
        for order, context in zip(self._orders, before, strict=True):
            number = order.find(self._key(context, words))
            total = order.total[context]
            mixed = (order.left[number] + order.spread[context] * chance) / np.maximum(total, 1)
            chance = np.where(total > 0, mixed, chance)
        return chance

    def _before(self, row: np.ndarray, depth: np.ndarray) -> list[np.ndarray]:
        """Return, for each order, the index of the context at each position, or -1 if it is unseen or missing."""
        before = [np.zeros_like(row)]
        for n, order in enumerate(self._orders[:-1], 1):
            number = np.where(depth >= n - 1, order.find(self._key(before[-1], row)), -1)
            before.append(np.concatenate([[-1], number[:-1]]))
        return before

    def probabilities(self, context: Sequence[str]) -> dict[str, float]:
        """Return the probability of each word of the vocabulary (and the end) after the first words of a sentence."""
        row, depth = self._line_up([context])
        last = len(row) - 1  # the position of the end, where any word can follow
        words = np.arange(1, len(self.words))
        before = [np.full_like(words, numbers[last]) for numbers in self._before(row, depth)]
        return dict(zip(self.words[1:], self._chances(before, words).tolist(), strict=True))

    def perplexity(self, sentences: Iterable[Sentence]) -> float:
        """Return `exp` of the mean negative log-probability per word, counting the ends of sentences as words."""
        texts = [_words(sentence) for sentence in sentences]
        if not texts:
            raise ValueError("sentences: expected at least one. Received: none")
        row, depth = self._line_up(texts)
        chances = self._chances(self._before(row, depth), row)[depth > 0]
        return float(np.exp(-np.log(chances).mean()))


def _words(sentence: Sentence) -> Sequence[str]:
    return sentence.split() if isinstance(sentence, str) else sentence


def _discounted(keys: np.ndarray, count: np.ndarray, context: np.ndarray, contexts: int) -> _Order:
    discount = np.array([0.0, *_discounts(np.bincount(count, minlength=5))])[np.minimum(count, 3)]
    total, spread = (np.bincount(context, weights, minlength=contexts + 1) for weights in (count, discount))
    return _Order(keys, np.append(count - discount, 0), total, spread)


def _discounts(times: np.ndarray) -> tuple[float, ...]:
    """Return D1, D2 and D3 by Chen and Goodman: `D_k = k - (k + 1) Y t_{k+1} / t_k`, `Y = t_1 / (t_1 + 2 t_2)`.

    Args:
        times: The number of n-grams with each count.
    """
    if not times[1:5].all():
        return FALLBACK
    share = times[1] / (times[1] + 2 * times[2])
    found = tuple(k - (k + 1) * share * times[k + 1] / times[k] for k in (1, 2, 3))
    return found if all(0 < d <= k for k, d in enumerate(found, 1)) else FALLBACK
