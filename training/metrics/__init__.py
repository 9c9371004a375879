"""Metrics for the answers of a model.

A metric takes the answer to each key and the correct answers, `(answers, references)`, and returns values by name.
"""

from seqattn_tf.training.metrics.base import Metric, Sampled, Suffixed, Tally, mean_tally
from seqattn_tf.training.metrics.captions import CAPTIONS, captions, cider
from seqattn_tf.training.metrics.errors import ERRORS, edit_distance, symbol_and_word_errors
from seqattn_tf.training.metrics.exact import EXACT, accuracy_by, exact_match, nbest_accuracy, nbest_tally
from seqattn_tf.training.metrics.intervals import Difference, Interval, differences, intervals
from seqattn_tf.training.metrics.latex import LATEX, latex_accuracy
from seqattn_tf.training.metrics.perplexity import perplexity
from seqattn_tf.training.metrics.prefixes import PREFIX_ACCURACY, prefix_accuracy, prefix_accuracy_by
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
    "BLEU",
    "CAPTIONS",
    "CHRF",
    "ERRORS",
    "EXACT",
    "LATEX",
    "PREFIX_ACCURACY",
    "ROUGE",
    "SEGMENTS",
    "TAGS",
    "Difference",
    "Interval",
    "Metric",
    "Sampled",
    "Suffixed",
    "Tally",
    "accuracy_by",
    "attachment",
    "bleu",
    "bleu_by_length",
    "bleu_signature",
    "captions",
    "chrf",
    "cider",
    "differences",
    "edit_distance",
    "exact_match",
    "intervals",
    "latex_accuracy",
    "mean_tally",
    "nbest_accuracy",
    "nbest_tally",
    "perplexity",
    "prefix_accuracy",
    "prefix_accuracy_by",
    "rouge",
    "segment_f1",
    "segments",
    "symbol_and_word_errors",
    "tag_accuracy",
]
