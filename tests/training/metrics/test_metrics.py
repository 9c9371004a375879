import itertools
import math
from collections import Counter

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.gradients import assert_gradient
from support.layers import random, roundtrip

from seqattn_tf.outputs import MaskedCrossEntropy
from seqattn_tf.training.metrics import (
    accuracy_by,
    bleu,
    bleu_by_length,
    bleu_signature,
    chrf,
    edit_distance,
    exact_match,
    nbest_accuracy,
    prefix_accuracy,
    prefix_accuracy_by,
    rouge,
    symbol_and_word_errors,
)


def by_recursion(a, b):
    if not a or not b:
        return len(a) + len(b)
    return min(by_recursion(a[1:], b) + 1, by_recursion(a, b[1:]) + 1, by_recursion(a[1:], b[1:]) + (a[0] != b[0]))


def test_edit_distance_equals_the_definition():
    words = ["".join(w) for n in range(4) for w in itertools.product("ab", repeat=n)]
    for a, b in itertools.product(words, words):
        assert edit_distance(a, b) == by_recursion(a, b)


def test_any_reference_is_right_and_the_nearest_counts():
    answers = {"read": "R EH D", "lead": "L IY T", "empty": ""}
    references = {"read": ["R IY D", "R EH D"], "lead": ["L EH D", "L IY D"], "empty": ["EH M"]}
    assert symbol_and_word_errors(answers, references) == {"symbol_error_rate": 3 / 8, "answer_error_rate": 2 / 3}


def test_error_rates_equal_a_loop_over_all_references():
    generator = np.random.default_rng(0)

    def text(least):
        return " ".join(generator.choice(list("abc"), generator.integers(least, 6)))

    references = {str(i): [text(1) for _ in range(generator.integers(1, 4))] for i in range(200)}
    answers = {source: text(0) for source in references}
    errors = symbols = wrong = 0
    for source, targets in references.items():
        distances = [by_recursion(answers[source].split(), target.split()) for target in targets]
        nearest = min(range(len(targets)), key=lambda i: distances[i] / len(targets[i].split()))
        errors, symbols = errors + distances[nearest], symbols + len(targets[nearest].split())
        wrong += answers[source] not in targets
    assert symbol_and_word_errors(answers, references) == {
        "symbol_error_rate": errors / symbols,
        "answer_error_rate": wrong / 200,
    }


@pytest.mark.parametrize("metric", [symbol_and_word_errors, exact_match, bleu, chrf, rouge, nbest_accuracy])
def test_nothing_to_compare_is_refused(metric):
    with pytest.raises(ValueError, match=r"references: expected at least one\. Received: none"):
        metric({}, {})
    with pytest.raises(ValueError, match=r"answers: expected an answer for every source\. Received: none for 'b'"):
        metric({"a": "x"}, {"a": ["x"], "b": ["y"]})
    for bad in ([], "x"):
        with pytest.raises(ValueError, match=r"references: expected a list of texts for 'a'"):
            metric({"a": "x"}, {"a": bad})


def test_empty_references_have_no_symbol_error_rate():
    with pytest.raises(ValueError, match=r"references: expected at least one token\. Received: empty references only"):
        symbol_and_word_errors({"a": "x"}, {"a": [" "]})


ANSWERS = {"1": "the cat sat on a mat .", "2": "a dog , running far away from here", "3": "no idea at all"}
REFERENCES = {
    "1": ["the cat sat on the mat .", "a cat was on a mat ."],
    "2": ["a dog , running away from here"],
    "3": ["I have no idea", "no idea at all", "none"],
}


def bleu_by_definition(answers, references):
    """Compute BLEU by its definition (Papineni et al.): clipped precisions, and brevity by the nearest length.

    If two references are equally near, the shorter one counts.
    """

    def grams(text, n):
        tokens = text.split()
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    logs, said, wanted = 0.0, 0, 0
    for n in range(1, 5):
        hits = total = 0
        for source, answer in answers.items():
            most = Counter()
            for target in references[source]:
                most |= grams(target, n)
            hits, total = hits + (grams(answer, n) & most).total(), total + grams(answer, n).total()
        logs += math.log(hits / total) / 4
    for source, answer in answers.items():
        said += len(answer.split())
        lengths = [len(target.split()) for target in references[source]]
        wanted += min(lengths, key=lambda length: (abs(length - len(answer.split())), length))
    return 100 * math.exp(logs) * min(1, math.exp(1 - wanted / said))


def test_bleu_equals_its_definition():
    expected = bleu_by_definition(ANSWERS, REFERENCES)
    assert bleu(ANSWERS, REFERENCES, tokenize="none")["bleu"] == pytest.approx(expected)
    raw = {source: answer.replace(" .", ".").replace(" ,", ",") for source, answer in ANSWERS.items()}
    assert bleu(raw, REFERENCES)["bleu"] == pytest.approx(expected)
    loud = {source: answer.upper() for source, answer in ANSWERS.items()}
    assert bleu(loud, REFERENCES)["bleu"] < 20
    small = {source: [target.lower() for target in targets] for source, targets in REFERENCES.items()}
    assert bleu(loud, REFERENCES, lowercase=True)["bleu"] == pytest.approx(bleu_by_definition(ANSWERS, small))
    assert bleu_signature(REFERENCES, "none").startswith("nrefs:var|case:mixed|eff:no|tok:none|smooth:exp|version:")
    with pytest.raises(ValueError, match=r"tokenize: expected one of .*Received: 'ja-mecab'"):
        bleu(ANSWERS, REFERENCES, tokenize="ja-mecab")


def test_wrong_and_empty_answers_count_as_nothing():
    empty = dict.fromkeys(REFERENCES, "")
    assert {**bleu(empty, REFERENCES), **chrf(empty, REFERENCES), **rouge(empty, REFERENCES)} == dict.fromkeys(
        ["bleu", "chrf", "rouge1", "rouge2", "rougeL"], 0
    )
    right = {source: targets[-1] for source, targets in REFERENCES.items()}
    assert chrf(right, REFERENCES)["chrf"] == pytest.approx(100)


def test_rouge_equals_its_definition():
    """`b a c d` and `a b c` have three words, no pair and a subsequence of two words in common."""
    figures = rouge({"1": "b a c d", "2": "x"}, {"1": ["y", "a b c"], "2": ["x"]})
    f_measures = {"rouge1": 2 * 3 / (4 + 3), "rouge2": 0, "rougeL": 2 * 2 / (4 + 3)}
    assert figures == pytest.approx({name: 50 * (f + (name != "rouge2")) for name, f in f_measures.items()})


def test_bleu_by_length_parts_the_sources():
    lengths = {"1": 3, "2": 10, "3": 40}
    groups = bleu_by_length(lengths, ANSWERS, REFERENCES, edges=[5, 10, 20], tokenize="none")
    assert [(label, count) for label, count, _ in groups] == [("1-5", 1), ("6-10", 1), ("over 20", 1)]
    for (_, _, value), source in zip(groups, "123", strict=True):
        only = {source: REFERENCES[source]}
        assert value == pytest.approx(bleu_by_definition({source: ANSWERS[source]}, only))
    assert bleu_by_length({**lengths, "1": 0}, ANSWERS, REFERENCES, [100])[0][:2] == ("1-100", 3)
    with pytest.raises(ValueError, match=r"lengths: expected one for every source\. Received: none for '2'"):
        bleu_by_length({"1": 1}, ANSWERS, REFERENCES, [5])
    for edges in ([], [0, 5], [5, 5], [9, 3]):
        with pytest.raises(ValueError, match="edges: expected rising positive numbers"):
            bleu_by_length(lengths, ANSWERS, REFERENCES, edges)


def test_accuracy_of_the_first_and_of_the_best_few():
    references = {"a": ["x", "y"], "b": ["z"], "c": ["w"], "d": ["v"]}
    ranked = {"a": ["y", "q", "r"], "b": ["q", "z"], "c": ["q", "r", "w"], "d": []}
    assert nbest_accuracy(ranked, references) == {"accuracy": 0.25, "accuracy_2": 0.5, "accuracy_3": 0.75}
    first = {source: (best or [""])[0] for source, best in ranked.items()}
    assert exact_match(first, references) == {"accuracy": 0.25}
    assert accuracy_by({"a": 2, "b": 1, "c": 2, "d": 1}, first, references) == {1: (2, 0.0), 2: (2, 0.5)}
    with pytest.raises(ValueError, match="keys: expected one for every source"):
        accuracy_by({"a": 1}, first, references)
    with pytest.raises(ValueError, match=r"ns: expected positive numbers\. Received: \(0,\)"):
        nbest_accuracy(ranked, references, ns=(0,))
    with pytest.raises(ValueError, match="ranked: expected a list of answers to 'a'"):
        nbest_accuracy({"a": "x"}, {"a": ["x"]})


@pytest.mark.parametrize(
    ("answer", "target", "share"),
    [
        ("a b c", "a b c", 1.0),
        ("a b c d", "a b c", 1.0),  # text after the target is not an error
        ("a x c", "a b c", 1 / 3),
        ("x b c", "a b c", 0.0),
        ("a b", "a b c d", 0.5),
        ("ab", "a b", 0.0),
        ("", "a", 0.0),
        ("", "", 1.0),
        ("a", "", 0.0),
    ],
)
def test_how_far_an_answer_is_right(answer, target, share):
    found = prefix_accuracy({"1": answer}, {"1": [target]})
    assert found == {"prefix_accuracy": pytest.approx(share), "accuracy": float(answer == target)}


def test_of_several_right_answers_the_one_that_is_begun_best_counts():
    answers, references = {"1": "a b", "2": "x"}, {"1": ["b a", "a c"], "2": ["x", "y"]}
    assert prefix_accuracy(answers, references) == {"prefix_accuracy": 0.75, "accuracy": 0.5}
    assert prefix_accuracy_by({"1": "3", "2": "2"}, answers, references) == [("2", 1, 1.0), ("3", 1, 0.5)]


def test_cross_entropy_equals_keras_on_the_kept_symbols():
    logits, labels = random(3, 4, 6), np.array([[1, 2, 3, 0], [5, 0, 0, 0], [4, 4, 4, 4]])
    ours = MaskedCrossEntropy(label_smoothing=0.1)(tf.constant(labels), tf.constant(logits))
    onehot = np.eye(6)[labels[labels != 0]]
    theirs = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)(onehot, logits[labels != 0])
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_cross_entropy_of_nothing_and_its_gradient_and_configuration():
    loss = MaskedCrossEntropy(label_smoothing=0.2)
    assert float(loss(tf.zeros([2, 3], tf.int32), tf.ones([2, 3, 4]))) == 0
    assert roundtrip(loss).label_smoothing == 0.2
    labels = tf.constant([[1, 0], [2, 3]])
    assert_gradient(
        lambda logits: tf.cast(loss(labels, tf.cast(logits, tf.float32)), tf.float64),
        [random(2, 2, 4, dtype="float64")],
        step=1e-2,
        tolerance=1e-3,
    )
