"""Attachment scores."""

import random

import pytest

from seqattn_tf.training.metrics import ATTACHMENT
from seqattn_tf.training.metrics.trees import attachment


def test_scores_equal_a_count_by_hand():
    rng = random.Random(0)

    def tree():
        return [(rng.randint(0, 3), rng.choice(["det", "nsubj", "nsubj:pass"])) for _ in range(6)]

    right, said = ([tree() for _ in range(50)] for _ in range(2))
    pairs = [pair for trees in zip(said, right, strict=True) for pair in zip(*trees, strict=True)]

    def written(trees):
        return {str(i): " ".join(f"{head}:{relation}" for head, relation in tree) for i, tree in enumerate(trees)}

    figures = attachment(written(said), {key: [text] for key, text in written(right).items()})
    assert figures == {
        "las": sum(one == other for one, other in pairs) / 300,
        "uas": sum(one[0] == other[0] for one, other in pairs) / 300,
    }
    assert 0 < figures["las"] < figures["uas"] < 1


@pytest.mark.parametrize(
    ("said", "figures"),
    [
        ("2:det 0:root", {"las": 1.0, "uas": 1.0}),
        ("2:nmod 0:root", {"las": 0.5, "uas": 1.0}),
        ("0:det 1:root", {"las": 0.0, "uas": 0.0}),
        ("2:det:of 0:root", {"las": 0.5, "uas": 1.0}),
        ("21:det 0:root", {"las": 0.5, "uas": 0.5}),
    ],
)
def test_an_arc_is_right_with_its_whole_relation(said, figures):
    assert attachment({"a b": said}, {"a b": ["2:det 0:root"]}) == figures


def test_a_text_counts_as_often_as_it_stands_in_the_data():
    right = {"a b": ["2:det 0:root", "0:root 1:x"], "c": ["0:root"]}
    assert attachment({"a b": "2:det 0:x", "c": "0:root"}, right) == {"las": 2 / 5, "uas": 3 / 5}


def test_bad_answers_are_refused():
    ATTACHMENT.check({"a": ["0:root"]})
    assert ATTACHMENT.figure == "las"
    with pytest.raises(ValueError, match=r"answers: expected 2 arcs\. Received: 1, '0:root'"):
        attachment({"a b": "0:root"}, {"a b": ["2:det 0:root"]})
    with pytest.raises(ValueError, match=r"references: expected at least one\. Received: none"):
        attachment({}, {})
