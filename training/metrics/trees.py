"""The accuracy of heads of words, and of their relations."""

import numpy as np

from seqattn_tf.training.metrics.base import Answers, Metric, References, Tally
from seqattn_tf.training.metrics.tags import count_pairs


def attachment(answers: Answers, references: References) -> dict[str, float]:
    """Compute attachment scores over all words including punctuation: `uas` without relations, `las` with them.

    >>> attachment({"a b": "2:det 0:root"}, {"a b": ["2:nmod 0:root"]})
    {'las': 0.5, 'uas': 1.0}
    """
    return _attachment_tally(answers, references).total


def _attachment_tally(answers: Answers, references: References) -> Tally:
    def count(predicted: list[str], right: list[str]) -> tuple[int, int, int]:
        pairs = list(zip(predicted, right, strict=True))
        heads = sum(one.partition(":")[0] == other.partition(":")[0] for one, other in pairs)
        return sum(one == other for one, other in pairs), heads, len(right)

    def values(sums: np.ndarray) -> dict[str, float]:
        return {name: float(right / max(sums[-1], 1)) for name, right in zip(("las", "uas"), sums, strict=False)}

    return Tally(count_pairs(answers, references, "arcs", count), values)


ATTACHMENT = Metric("attachment", attachment, figure="las", tally=_attachment_tally)
