"""Document classification: a label for a document, with the weights of its words and sentences.

    seqattn train classify --data movie_reviews
    seqattn train classify --data reviews.csv --set text_column=review --set target_column=stars \\
        --set split_sentences=true

Data: movie reviews in ten folds (`test_fold`), or a table. Encoder: a hierarchical attention network over the words of
each line and over lines; or a flat one, for training texts of one line. Loss: cross-entropy of the labels. Metric:
share of correct labels.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import movie_reviews
from seqattn_tf.training.recipes.base import Recipe, load_pairs
from seqattn_tf.training.tasks import ClassifySettings, ClassifyTask, setting


@dataclasses.dataclass(frozen=True)
class _DocumentSettings(ClassifySettings):
    """The settings of document classification and of the movie reviews."""

    encoder: str = "document"
    max_source_length: int = 4000
    test_fold: int = setting(0, "test fold of the movie reviews, from 0 to 9; the next fold is the development split")


FULL = _DocumentSettings(
    units=64, embedding=100, cell="gru", dropout=0.5, batch_size=32, epochs=12, learning_rate=2e-3, warmup_steps=50
)


def load(data: str | Path | None, settings: _DocumentSettings) -> Splits:
    """Load the movie reviews or a table."""
    if movie_reviews.find(data):
        return movie_reviews.load(data, settings.test_fold)
    return load_pairs(data, settings)


recipe = Recipe(
    name="classify",
    summary="document -> label (movie reviews, your tables)",
    load=load,
    task=ClassifyTask(),
    settings=FULL,
    small=dataclasses.replace(FULL, units=32, embedding=48, epochs=3, max_lines=32, max_line_length=32),
)
