import pytest

from seqattn_tf.training.metrics import EXACT, Metric
from seqattn_tf.training.metrics.base import pair_up


def test_answers_meet_their_references_in_the_order_of_these():
    answers = {"b": "B", "c": "C", "a": "A"}
    assert pair_up(answers, {"a": ["A", "AH"], "b": ("B",)}) == [("A", ["A", "AH"]), ("B", ("B",))]


@pytest.mark.parametrize(
    ("references", "message"),
    [
        ({}, "references: expected at least one"),
        ({"a": ["A"], "b": ["B"]}, "answers: expected an answer for every source. Received: none for 'b'"),
        ({"a": "A"}, "references: expected a list of texts for 'a'. Received: 'A'"),
        ({"a": []}, "references: expected a list of texts for 'a'"),
    ],
)
def test_what_cannot_be_paired_is_refused(references, message):
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        pair_up({"a": "A"}, references)
    assert str(raised.value).startswith(message)


def test_a_metric_without_its_figure_is_refused(monkeypatch):
    monkeypatch.setattr(Metric, "made", dict(Metric.made))
    metric = Metric("lying", lambda answers, references: {"other": 1.0}, figure="mine")
    with pytest.raises(ValueError, match=r"metric lying: expected a result named 'mine'\. Received: \{'other': 1\.0\}"):
        metric.check({"a": ["b"]})
    EXACT.check({"a": ["b", "c"]})
