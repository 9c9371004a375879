"""Tagging: a tag for each word, such as parts of speech, chunks or names.

    seqattn train tag --data conll2000 --metric segments --set scheme=BIO
    seqattn train tag --data UD_English-EWT --set tag_column=upos

Data: column files in CoNLL or CoNLL-U format. Encoder: a bidirectional LSTM over words and their letters. Output: a
conditional random field, or a softmax for each word. Loss: negative log-likelihood of the tags. Metric: share of
correct tags, or F1 of segments.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits, column_files
from seqattn_tf.training.recipes.base import Recipe
from seqattn_tf.training.tasks import TagSettings, TagTask

FULL = TagSettings(
    units=200, embedding=100, dropout=0.5, batch_size=32, epochs=30, learning_rate=2e-3, warmup_steps=300, clip_norm=5.0
)


def load(data: str | Path | None, settings: TagSettings) -> Splits:
    """Load the sentences of column files."""
    columns = [settings.word_column, settings.tag_column]
    return column_files.load(data, columns, lambda rows: " ".join(tag.replace(" ", "_") for _, tag in rows))


recipe = Recipe(
    name="tag",
    summary="words -> tags (CoNLL columns, Universal Dependencies)",
    load=load,
    task=TagTask(),
    settings=FULL,
    small=dataclasses.replace(FULL, units=64, embedding=48, filters=24, dropout=0.3, epochs=3, learning_rate=4e-3),
)
