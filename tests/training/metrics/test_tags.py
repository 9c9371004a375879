"""Tags and segments, compared with `seqeval`.

`seqeval.json` contains the results of seqeval 1.2.2 for the same tags: `get_entities` (labels, first tags, ends) and
its metrics. It is not installed for the tests, because Keras would import scikit-learn, one of its dependencies.
"""

import json
import random
from pathlib import Path

import pytest

from seqattn_tf.training.metrics import SEGMENTS, TAGS, segment_f1, tag_accuracy
from seqattn_tf.training.metrics.tags import segments

SEQEVAL = json.loads(Path(__file__).with_name("seqeval.json").read_text())
SCHEMES = {
    "BIO": ["O", *(f"{letter}-{label}" for letter in "BI" for label in ("NP", "VP", "A-B"))],
    "BIOES": ["O", *(f"{letter}-{label}" for letter in "BIES" for label in ("NP", "VP"))],
    "bare": ["O", *"BIES", "B-NP", "I-NP"],
}


def sequences(scheme, count, seed=0):
    """Return random tags, most of which violate the scheme."""
    rng = random.Random(seed)
    return [rng.choices(SCHEMES[scheme], k=rng.randint(1, 9)) for _ in range(count)]


def near(tags, seed):
    """Return the tags with some random errors."""
    rng = random.Random(seed)
    return [[rng.choice(row) if rng.random() < 0.3 else tag for tag in row] for row in tags]


def legal(count):
    """Return sequences that follow BIOES, and the same sequences in BIO."""
    rng = random.Random(0)
    long, short = [], []
    for _ in range(count):
        long.append([])
        short.append([])
        for _ in range(rng.randint(1, 4)):
            size, label = rng.randint(1, 3), rng.choice(["NP", "VP", ""])
            if not label:
                long[-1] += ["O"] * size
                short[-1] += ["O"] * size
            else:
                letters = "S" if size == 1 else "B" + "I" * (size - 2) + "E"
                long[-1] += [f"{letter}-{label}" for letter in letters]
                short[-1] += [f"{letter}-{label}" for letter in "B" + "I" * (size - 1)]
    return long, short


def figures_of(said, right):
    keys = [str(i) for i in range(len(right))]
    answers = {key: " ".join(tags) for key, tags in zip(keys, said, strict=True)}
    return segment_f1(answers, {key: [" ".join(tags)] for key, tags in zip(keys, right, strict=True)})


@pytest.mark.parametrize("scheme", SCHEMES)
def test_segments_are_those_of_seqeval_be_they_against_the_scheme(scheme):
    expected = SEQEVAL["segments"][scheme]
    for tags, found in zip(sequences(scheme, len(expected)), expected, strict=True):
        assert "; ".join(f"{label} {first} {end}" for label, first, end in segments(tags)) == found, tags


@pytest.mark.parametrize("scheme", [*SCHEMES, "legal"])
def test_figures_are_those_of_seqeval(scheme):
    right = legal(300)[0] if scheme == "legal" else sequences(scheme, 300)
    figures = figures_of(near(right, seed=1), right)
    assert figures == pytest.approx(SEQEVAL["figures"][scheme])
    assert 0.2 < figures["f1"] < 0.9


def test_both_schemes_have_the_same_segments():
    long, short = legal(300)
    assert [segments(tags) for tags in long] == [segments(tags) for tags in short]


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("", []),
        ("O O", []),
        ("B-A B-A I-A", [("A", 0, 1), ("A", 1, 3)]),
        ("I-A I-B", [("A", 0, 1), ("B", 1, 2)]),
        ("S-A I-A E-A E-A", [("A", 0, 1), ("A", 1, 3), ("A", 3, 4)]),
        ("B-A O I-A", [("A", 0, 1), ("A", 2, 3)]),
    ],
)
def test_segments_by_hand(tags, found):
    assert segments(tags.split()) == found


def test_a_segment_counts_with_its_label_and_both_ends():
    figures = segment_f1(
        {"1": "B-A I-A O B-B", "2": "B-A O"}, {"1": ["B-A I-A O B-A"], "2": ["B-A I-A"]}
    )  # three predicted and three correct segments, one of them in common
    assert figures == pytest.approx({"f1": 1 / 3, "precision": 1 / 3, "recall": 1 / 3, "accuracy": 4 / 6})
    assert segment_f1({"1": "O O"}, {"1": ["B-A I-A"]}) == {"f1": 0, "precision": 0, "recall": 0, "accuracy": 0}
    assert segment_f1({"1": "O"}, {"1": ["O"]}) == {"f1": 0, "precision": 0, "recall": 0, "accuracy": 1}


def test_a_text_counts_as_often_as_it_stands_in_the_data():
    answers = {"a b": "D N", "c": "V"}
    assert tag_accuracy(answers, {"a b": ["D V", "D N", "X X"], "c": ["V"]}) == {"accuracy": 4 / 7}
    assert segment_f1({"a": "B-A"}, {"a": ["B-A", "O"]}) == pytest.approx(
        {"f1": 2 / 3, "precision": 1 / 2, "recall": 1, "accuracy": 1 / 2}
    )


@pytest.mark.parametrize("metric", [TAGS, SEGMENTS])
def test_bad_answers_are_refused(metric):
    metric.check({"a b": ["B-X O"]})
    with pytest.raises(ValueError, match=r"answers: expected 2 tags\. Received: 1, 'D'"):
        metric.measure({"a b": "D"}, {"a b": ["D N"]})
    with pytest.raises(ValueError, match=r"references: expected at least one\. Received: none"):
        metric.measure({}, {})
    with pytest.raises(ValueError, match=r"answers: expected an answer for every source\. Received: none for 'b'"):
        metric.measure({"a": "x"}, {"a": ["x"], "b": ["y"]})
