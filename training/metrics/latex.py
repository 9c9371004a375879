"""Metrics of formulas: the share with correct symbols, and the share that look correct when rendered."""

from seqattn_tf.explain.formula import looks_alike
from seqattn_tf.training.metrics.base import Answers, Metric, References, pair_up
from seqattn_tf.training.metrics.exact import exact_match
from seqattn_tf.training.metrics.translation import bleu


def latex_accuracy(answers: Answers, references: References) -> dict[str, float]:
    """Return the share of answers that equal a reference, that look like one when rendered, and BLEU of their symbols.

    >>> found = latex_accuracy({"a": "x ^ { 2 } _ { 1 }"}, {"a": ["x _ { 1 } ^ { 2 }"]})
    >>> found["accuracy"], found["rendered"]
    (0.0, 1.0)
    """
    seen = [
        any(answer == target or looks_alike(answer, target) for target in targets)
        for answer, targets in pair_up(answers, references)
    ]
    return {**exact_match(answers, references), "rendered": sum(seen) / len(seen), **bleu(answers, references)}


LATEX = Metric("latex", latex_accuracy, figure="accuracy")
