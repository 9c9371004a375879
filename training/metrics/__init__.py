"""What results are reported in.

A metric takes the answer to each key and the right ones, `(answers, references)`, and returns figures by name.
"""

from seqattn_tf.training.metrics.base import Metric
from seqattn_tf.training.metrics.beginning import BEGUN, beginnings, begun_by
from seqattn_tf.training.metrics.captions import CAPTIONS, captions, cider
from seqattn_tf.training.metrics.errors import ERRORS, edit_distance, symbol_and_word_errors
from seqattn_tf.training.metrics.exact import EXACT, accuracy_by, exact_match, nbest_accuracy
from seqattn_tf.training.metrics.markup import MARKUP, markup
from seqattn_tf.training.metrics.tags import SEGMENTS, TAGS, segment_f1, segments, tag_accuracy
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
from seqattn_tf.training.metrics.trees import ATTACHMENT, attachment

__all__ = [
    "ATTACHMENT",
    "BEGUN",
    "BLEU",
    "CAPTIONS",
    "CHRF",
    "ERRORS",
    "EXACT",
    "MARKUP",
    "ROUGE",
    "SEGMENTS",
    "TAGS",
    "Metric",
    "accuracy_by",
    "attachment",
    "beginnings",
    "begun_by",
    "bleu",
    "bleu_by_length",
    "bleu_signature",
    "captions",
    "chrf",
    "cider",
    "edit_distance",
    "exact_match",
    "markup",
    "nbest_accuracy",
    "rouge",
    "segment_f1",
    "segments",
    "symbol_and_word_errors",
    "tag_accuracy",
]
