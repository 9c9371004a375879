"""What results are reported in.

A metric takes the answer to each key and the right ones, `(answers, references)`, and returns figures by name.
"""

from seqattn_tf.training.metrics.base import Metric
from seqattn_tf.training.metrics.errors import ERRORS, edit_distance, symbol_and_word_errors
from seqattn_tf.training.metrics.exact import EXACT, accuracy_by, exact_match, nbest_accuracy
from seqattn_tf.training.metrics.translation import (
    BLEU,
    CHRF,
    ROUGE,
    bleu,
    bleu_by_length,
    bleu_signature,
    chrf,
    rouge,
)

__all__ = [
    "BLEU",
    "CHRF",
    "ERRORS",
    "EXACT",
    "ROUGE",
    "Metric",
    "accuracy_by",
    "bleu",
    "bleu_by_length",
    "bleu_signature",
    "chrf",
    "edit_distance",
    "exact_match",
    "nbest_accuracy",
    "rouge",
    "symbol_and_word_errors",
]
