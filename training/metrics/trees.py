"""The accuracy of heads of words, and of their relations."""

from seqattn_tf.training.metrics.base import Answers, Metric, References, pair_up


def attachment(answers: Answers, references: References) -> dict[str, float]:
    """Compute attachment scores over all words including punctuation: `uas` without relations, `las` with them.

    >>> attachment({"a b": "2:det 0:root"}, {"a b": ["2:nmod 0:root"]})
    {'las': 0.5, 'uas': 1.0}
    """
    words = heads = arcs = 0
    for answer, targets in pair_up(answers, references):
        for target in targets:
            said, right = answer.split(), target.split()
            if len(said) != len(right):
                raise ValueError(f"answers: expected {len(right)} arcs. Received: {len(said)}, {answer!r:.80}")
            words += len(right)
            for one, other in zip(said, right, strict=True):
                heads += one.partition(":")[0] == other.partition(":")[0]
                arcs += one == other
    return {"las": arcs / max(words, 1), "uas": heads / max(words, 1)}


ATTACHMENT = Metric("attachment", attachment, figure="las")
