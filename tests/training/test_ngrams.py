"""The n-gram model compared with its formula in plain loops, and its properties as a distribution."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from seqattn_tf.training import ngrams
from seqattn_tf.training.ngrams import KneserNey


class ByDefinition:
    """Chen and Goodman's formula, one n-gram at a time."""

    def __init__(self, sentences, order):
        self.order = order
        raw = Counter()
        for sentence in sentences:
            row = ["<s>", *sentence.split(), "</s>"]
            for n in range(1, order + 1):
                raw.update(tuple(row[i : i + n]) for i in range(len(row) - n + 1))
        before = defaultdict(set)
        for gram in raw:
            before[gram[1:]].add(gram[0])
        self.counts = {
            gram: count if len(gram) == order or gram[0] == "<s>" else len(before[gram])
            for gram, count in raw.items()
            if gram != ("<s>",)
        }
        self.followers = defaultdict(list)
        for gram, count in self.counts.items():
            self.followers[gram[:-1]].append(count)
        by_order = [[count for gram, count in self.counts.items() if len(gram) == n] for n in range(order + 1)]
        self.discounts = list(map(self.estimate, by_order))
        self.size = len({word for gram in raw for word in gram} | {"<unk>"}) - 1

    @staticmethod
    def estimate(counts):
        t = Counter(counts)
        if not all(t[k] for k in (1, 2, 3, 4)):
            return (0, *ngrams.FALLBACK)
        y = t[1] / (t[1] + 2 * t[2])
        found = (0, 1 - 2 * y * t[2] / t[1], 2 - 3 * y * t[3] / t[2], 3 - 4 * y * t[4] / t[3])
        return found if min(found[1:]) > 0 else (0, *ngrams.FALLBACK)

    def chance(self, context, word):
        if len(context) >= self.order:
            context = context[len(context) - self.order + 1 :]
        lower = self.chance(context[1:], word) if context else 1 / self.size
        counts, discount = self.followers.get(context), self.discounts[len(context) + 1]
        if not counts:
            return lower
        own = self.counts.get((*context, word), 0)
        spread = sum(discount[min(count, 3)] for count in counts)
        return (max(own - discount[min(own, 3)], 0) + spread * lower) / sum(counts)


def made_up(count, seed):
    """Return sentences of a random walk over twelve words with mostly small steps."""
    generator = np.random.default_rng(seed)
    return [
        " ".join("abcdefghijkl"[i % 12] for i in np.cumsum(generator.geometric(0.45, generator.integers(1, 9))))
        for _ in range(count)
    ]


SENTENCES = made_up(400, 0)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_equals_the_formula(order):
    ours, twin = KneserNey(SENTENCES, order), ByDefinition(SENTENCES, order)
    assert (twin.discounts[-1][1:] != ngrams.FALLBACK) == (order > 1)  # covers both kinds of discounts
    for context in ("", "a", "a b c", "l k j", "c d e f g h", "a zebra b"):
        words = tuple(word if word in "abcdefghijkl" else "<unk>" for word in context.split())
        found = ours.probabilities(context.split())
        assert len(found) == twin.size
        assert found == pytest.approx({word: twin.chance(("<s>", *words), word) for word in found}, rel=1e-9)
    surprise, count = 0.0, 0
    for sentence in made_up(30, 1):
        row = ["<s>", *sentence.split(), "</s>"]
        surprise -= sum(math.log(twin.chance(tuple(row[:i]), row[i])) for i in range(1, len(row)))
        count += len(row) - 1
    assert ours.perplexity(made_up(30, 1)) == pytest.approx(math.exp(surprise / count))


@pytest.mark.parametrize("sentences", [SENTENCES, ["a b", "c"], [""]])
@pytest.mark.parametrize("vocabulary", [None, ["a", "b", "never seen"]])
def test_chances_sum_to_one_after_seen_and_unseen_words(sentences, vocabulary):
    model = KneserNey(sentences, 5, vocabulary)
    for context in ("", "a", "a b", "b a", "zebra", "a b c d e f", "l l l l l l", "</s> <s>"):
        chances = model.probabilities(context.split())
        assert sum(chances.values()) == pytest.approx(1)
        assert min(chances.values()) > 0
        assert "<s>" not in chances
    assert np.isfinite(model.perplexity(["", "a zebra </s>", "</s>"]))


def test_words_outside_the_vocabulary_are_one_word():
    model = KneserNey(SENTENCES, 3, vocabulary=["a", "b"])
    assert set(model.probabilities([])) == {"a", "b", "</s>", "<unk>"}
    assert model.perplexity(["a c d"]) == model.perplexity([["a", "x", "<s>"]])


def test_context_helps_and_nothing_is_refused():
    train, test = made_up(2000, 2), made_up(200, 3)
    found = [KneserNey(train, order).perplexity(test) for order in (1, 2, 3)]
    assert found[1] < 0.6 * found[0]
    assert found[2] < 1.05 * found[1]  # the walk has no memory, so a longer context must not hurt
    with pytest.raises(ValueError, match=r"order: expected at least 1\. Received: 0"):
        KneserNey(train, 0)
    with pytest.raises(ValueError, match=r"sentences: expected at least one\. Received: none"):
        KneserNey([])
    with pytest.raises(ValueError, match=r"sentences: expected at least one\. Received: none"):
        KneserNey(train, 2).perplexity([])
