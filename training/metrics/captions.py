"""The usual metrics of captions: BLEU of one to four words without case and punctuation, and CIDEr-D."""

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from seqattn_tf.training.metrics.base import Answers, Metric, References, Tally, joined, mean_tally, pair_up
from seqattn_tf.training.metrics.translation import corpus_tally

_ORDERS = (1, 2, 3, 4)  # the lengths of n-grams
_SIGMA = 6.0  # the standard deviation, in words, of the penalty on differences in length
_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")


def plain_words(text: str) -> list[str]:
    """Return the words of a caption in lower case, without punctuation.

    >>> plain_words("A dog 's ball , in mid-air .")
    ['a', 'dog', 's', 'ball', 'in', 'mid-air']
    """
    return _WORD.findall(text.lower())


def captions(answers: Answers, references: References) -> dict[str, float]:
    """Compute unsmoothed corpus BLEU-1 to BLEU-4 and CIDEr-D (Vedantam et al., 2015), in points.

    >>> found = captions({"a": "A dog runs fast ."}, {"a": ["a dog runs fast", "a brown dog"]})
    >>> sorted(found), round(found["bleu4"])
    (['bleu1', 'bleu2', 'bleu3', 'bleu4', 'cider'], 100)
    """
    return _captions_tally(answers, references).total


def _captions_tally(answers: Answers, references: References) -> Tally:
    """Count matching n-grams for each picture.

    The weights of n-grams in CIDEr come from all pictures, and are the same for every sample of them.
    """
    from sacrebleu import metrics

    pairs = [(plain_words(said), [plain_words(text) for text in right]) for said, right in pair_up(answers, references)]
    said = {str(number): " ".join(words) for number, (words, _) in enumerate(pairs)}
    right = {str(number): [" ".join(words) for words in texts] for number, (_, texts) in enumerate(pairs)}
    tallies = []
    for order in _ORDERS:
        metric = metrics.BLEU(tokenize="none", smooth_method="none", max_ngram_order=order, force=True)
        tallies.append(corpus_tally(f"bleu{order}", metric, said, right))
    return joined([*tallies, mean_tally({"cider": _ciders(pairs)})])


def cider(pairs: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]]) -> float:
    """Compute CIDEr-D of captions, given as words together with the references of the same picture; in points.

    The fewer pictures have an n-gram in their references, the higher its weight.

    >>> right = [["a", "red", "ball"], ["two", "dogs", "run"]]
    >>> cider([(words, [words]) for words in right]) > cider([(right[1], [right[0]]), (right[0], [right[1]])])
    True
    """
    return float(np.mean(_ciders(pairs)))


def _ciders(pairs: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]]) -> list[float]:
    """Return CIDEr-D of each caption."""
    spread: Counter[tuple[str, ...]] = Counter()
    for _, right in pairs:
        spread.update(set().union(*(_stretches(words).keys() for words in right)))
    rare = math.log(len(pairs))

    def vectors(words: Sequence[str]) -> dict[int, dict[tuple[str, ...], float]]:
        found: dict[int, dict[tuple[str, ...], float]] = {order: {} for order in _ORDERS}
        for stretch, count in _stretches(words).items():
            found[len(stretch)][stretch] = count * (rare - math.log(max(spread[stretch], 1)))
        return found

    found = []
    for said, right in pairs:
        given, total = vectors(said), 0.0
        for words in right:
            other = vectors(words)
            near = math.exp(-((len(said) - len(words)) ** 2) / (2 * _SIGMA**2))
            total += near * sum(_alike(given[order], other[order]) for order in _ORDERS) / len(_ORDERS) / len(right)
        found.append(1000 * total)  # the factor 10 of CIDEr-D, and 100 for points
    return found


def _stretches(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + order]) for order in _ORDERS for i in range(len(words) - order + 1))


def _alike(said: dict[tuple[str, ...], float], right: dict[tuple[str, ...], float]) -> float:
    """Return the cosine similarity, with each n-gram of the answer counted at most as often as in the reference."""
    lengths = math.hypot(*said.values()) * math.hypot(*right.values())
    return (
        sum(min(said[key], right[key]) * right[key] for key in said.keys() & right.keys()) / lengths if lengths else 0
    )


CAPTIONS = Metric("captions", captions, figure="bleu4", tally=_captions_tally)
