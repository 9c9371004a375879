"""A document in, its label out, with the words and the sentences that counted.

    seqattn train classify --data movie_reviews
    seqattn train classify --data reviews.csv --set text=review --set target=stars --set sentences=true

Data: movie reviews in ten folds (`test_fold`); or a table. Encoder: a hierarchical attention network, words of each
line and lines; or flat, as where every training text has one line. Loss: cross-entropy of the labels. Metric: share of
right labels.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import movie_reviews
from seqattn_tf.training.recipes.base import Recipe, load_pairs
from seqattn_tf.training.tasks import ClassifySettings, ClassifyTask, setting


@dataclasses.dataclass(frozen=True)
class DocumentSettings(ClassifySettings):
    """Settings of a classifier of documents, and of the movie reviews."""

    encoder: str = "document"
    max_source: int = 4000
    test_fold: int = setting(0, "of the movie reviews, from 0 to 9; the next one is for development")


FULL = DocumentSettings(
    units=64, embedding=100, cell="gru", dropout=0.5, batch_size=32, epochs=12, learning_rate=2e-3, warmup_steps=50
)


def load(data: str | Path | None, settings: DocumentSettings) -> Splits:
    """The movie reviews, or a table."""
    if movie_reviews.find(data):
        return movie_reviews.load(data, settings.test_fold)
    return load_pairs(data, settings)


recipe = Recipe(
    name="classify",
    summary="document -> label (movie reviews, own tables)",
    load=load,
    task=ClassifyTask(),
    settings=FULL,
    small=dataclasses.replace(FULL, units=32, embedding=48, epochs=3, lines=32, line_length=32),
)
