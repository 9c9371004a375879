"""Samples of test examples, intervals and comparisons, against recomputation, sacrebleu and closed forms."""

import math

import numpy as np
import pytest
import sacrebleu

from seqattn_tf.training.metrics import (
    ATTACHMENT,
    BLEU,
    CAPTIONS,
    CHRF,
    ERRORS,
    EXACT,
    LATEX,
    PREFIX_ACCURACY,
    ROUGE,
    SEGMENTS,
    TAGS,
    Metric,
    Suffixed,
    Tally,
    differences,
    intervals,
    mean_tally,
    perplexity,
)
from seqattn_tf.training.metrics.base import Remeasured

WORDS = ("a", "dog", "runs", "fast", "home", "now")


def texts(units, count, seed):
    """Return texts with the same number of units for the same position, so that they can be tags or arcs."""
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice(units, 4 + number % 3)) for number in range(count)]


def case(metric):
    units = {
        "tags": ("N", "V"),
        "segments": ("B-N", "I-N", "O"),
        "attachment": ("0:root", "1:det", "2:det"),
    }.get(metric.name, WORDS)
    answers = dict(enumerate(texts(units, 12, 1)))
    references = {key: [text] for key, text in enumerate(texts(units, 12, 2))}
    for key in range(3):  # some right answers, and a key with two references
        answers[key] = references[key][0]
    references[5].append(texts(units, 12, 3)[5])
    return answers, references


METRICS = [EXACT, ERRORS, PREFIX_ACCURACY, TAGS, SEGMENTS, ATTACHMENT, BLEU, CHRF, ROUGE, LATEX, CAPTIONS]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_sample_has_the_values_of_the_metric_computed_anew(metric):
    """Would fail if a tally left out a count, or lost the order of its keys."""
    answers, references = case(metric)
    values, sampled = metric.evaluate(answers, references)
    assert values == metric.measure(answers, references)
    assert sampled.keys == 12
    weights = np.random.default_rng(0).integers(0, 3, 12)
    anew = Remeasured(metric.measure, answers, references).of(weights)
    found = sampled.of(weights)
    if metric is CAPTIONS:  # the weights of its n-grams come from all pictures
        anew["cider"] = found["cider"]
    assert found == pytest.approx(anew)
    assert sampled.of(np.ones(12, int)) == pytest.approx(values)


@pytest.mark.parametrize(
    ("metric", "official"), [(BLEU, sacrebleu.BLEU(force=True)), (CHRF, sacrebleu.CHRF())], ids=["bleu", "chrf"]
)
def test_corpus_metrics_are_those_of_the_public_function_of_sacrebleu(metric, official):
    answers, references = case(metric)
    streams = [[[*targets, None][i] for targets in references.values()] for i in range(2)]
    expected = official.corpus_score(list(answers.values()), streams).score
    assert metric.measure(answers, references)[metric.figure] == pytest.approx(expected)


def test_intervals_of_a_share_and_of_a_ratio_are_those_of_theory():
    right = np.arange(1000) < 700
    low, high = intervals(mean_tally({"accuracy": right}))["accuracy"]
    half = 1.96 * math.sqrt(0.7 * 0.3 / 1000)
    assert (low, high) == pytest.approx((0.7 - half, 0.7 + half), abs=0.004)

    draw = np.random.default_rng(0)
    counts = np.stack([draw.gamma(2.0, 3.0, 800), np.full(800, 3)], axis=1)
    mean, half = counts[:, 0].mean() / 3, 1.96 * counts[:, 0].std() / 3 / math.sqrt(800)
    low, high = intervals(perplexity(counts))["perplexity"]
    assert (math.log(low), math.log(high)) == pytest.approx((mean - half, mean + half), abs=0.02)


def test_models_are_compared_on_the_same_samples():
    """Would fail if the models were sampled apart: the difference would not be significant then."""
    draw = np.random.default_rng(1)
    first = draw.random(500) < 0.5
    second = first & (draw.random(500) < 0.95)  # wrong wherever the first one is, and in few other cases
    [found] = differences(mean_tally({"accuracy": first}), mean_tally({"accuracy": second})).values()
    apart = first.astype(int) - second
    assert found.value == pytest.approx(apart.mean())
    half = 1.96 * apart.std() / math.sqrt(500)
    assert (found.low, found.high) == pytest.approx((apart.mean() - half, apart.mean() + half), abs=0.003)
    assert found.p < 0.01

    [same] = differences(mean_tally({"accuracy": first}), mean_tally({"accuracy": first})).values()
    assert same == (0, 0, 0, 1)
    other = draw.permutation(first)
    [chance] = differences(mean_tally({"accuracy": first}), mean_tally({"accuracy": other})).values()
    assert chance.p > 0.05


def test_p_has_two_sides():
    first = np.array([1] * 30 + [0] * 20 + [1] * 450)
    second = np.array([0] * 30 + [1] * 20 + [1] * 450)
    apart = first - second
    z = apart.mean() / apart.std() * math.sqrt(500)
    [found] = differences(mean_tally({"accuracy": first}), mean_tally({"accuracy": second})).values()
    assert found.p == pytest.approx(math.erfc(z / math.sqrt(2)), abs=0.04)  # .16; a single side has .08
    assert differences(mean_tally({"a": second}), mean_tally({"a": first}))["a"].p == pytest.approx(found.p, abs=0.04)


def test_other_numbers_of_examples_are_not_compared():
    with pytest.raises(ValueError, match=r"expected the same test examples\. Received: 2 and 3 keys"):
        differences(mean_tally({"accuracy": [1, 0]}), mean_tally({"accuracy": [1, 0, 1]}))


def test_metrics_of_plugins_have_intervals_without_a_tally(monkeypatch):
    monkeypatch.setattr(Metric, "made", dict(Metric.made))
    vowels = Metric("vowels of a test", lambda answers, _: {"vowels": "".join(answers.values()).count("a")}, "vowels")
    _, sampled = vowels.evaluate(dict(enumerate("aabb")), dict(enumerate(["aabb"])) | {i: ["a"] for i in range(4)})
    assert sampled.of(np.array([1, 3, 0, 0])) == {"vowels": 4}
    low, high = intervals(sampled)["vowels"]
    assert 0 <= low < 2 < high <= 4


def test_a_value_that_some_samples_lack_has_an_interval_from_the_others():
    found = Tally(np.array([[1.0, 1], [0, 0]]), lambda sums: {"inside": sums[0] / sums[1]} if sums[1] else {})
    assert intervals(found) == {"inside": (1, 1)}
    assert list(Suffixed(found, "long").of(np.array([1, 1]))) == ["inside_long"]
