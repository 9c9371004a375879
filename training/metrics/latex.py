"""Metrics of formulas: the share with correct symbols, and the share that look correct when rendered."""

from seqattn_tf.explain.formula import looks_alike
from seqattn_tf.training.metrics.base import Answers, Metric, References, Tally, joined, mean_tally, pair_up
from seqattn_tf.training.metrics.exact import EXACT
from seqattn_tf.training.metrics.translation import BLEU


def latex_accuracy(answers: Answers, references: References) -> dict[str, float]:
    """Return the share of answers that equal a reference, that look like one when rendered, and BLEU of their symbols.

    >>> found = latex_accuracy({"a": "x ^ { 2 } _ { 1 }"}, {"a": ["x _ { 1 } ^ { 2 }"]})
    >>> found["accuracy"], found["rendered"]
    (0.0, 1.0)
    """
    return _latex_tally(answers, references).total


def _latex_tally(answers: Answers, references: References) -> Tally:
    seen = [
        any(answer == target or looks_alike(answer, target) for target in targets)
        for answer, targets in pair_up(answers, references)
    ]
    exact, bleu = (metric.tally(answers, references) for metric in (EXACT, BLEU) if metric.tally)
    return joined([exact, mean_tally({"rendered": seen}), bleu])


LATEX = Metric("latex", latex_accuracy, figure="accuracy", tally=_latex_tally)
