"""Sentiment of a sentence, by a TreeLSTM over its tree or by a network over its words.

    seqattn train sentiment --data sst --set pretrained_embeddings=glove.txt
    seqattn train sentiment --data sst --set encoder=bidirectional --set num_classes=2
    seqattn train sentiment --data tweets.csv --set text_column=tweet --set target_column=label

Data: the Stanford Sentiment Treebank, in brackets; or a table, whose texts may also be trees. Encoder: binary TreeLSTM
over the given tree, or over a balanced one. Loss: cross-entropy at every node. Metric: share of correct labels.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import sst
from seqattn_tf.training.recipes.base import Recipe, load_pairs
from seqattn_tf.training.tasks import ClassifySettings, ClassifyTask, setting


@dataclasses.dataclass(frozen=True)
class _SentimentSettings(ClassifySettings):
    """The settings of sentence classification and of the treebank."""

    num_classes: int = setting(5, "classes of the treebank: 5, or 2 for positive and negative only")
    phrases: bool = setting(True, "train on all phrases of the treebank instead of complete sentences only")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_classes not in (2, 5):
            raise ValueError(f"num_classes: expected 2 or 5. Received: {self.num_classes}")


FULL = _SentimentSettings(
    encoder="tree",
    units=150,
    embedding=100,
    min_count=1,
    dropout=0.5,
    batch_size=25,
    epochs=15,
    learning_rate=1e-3,
    warmup_steps=200,
    clip_norm=5.0,
)


def load(data: str | Path | None, settings: _SentimentSettings) -> Splits:
    """Load the treebank or a table."""
    if not sst.is_treebank(data):
        return load_pairs(data, settings)
    return sst.load(data, settings.num_classes == 2, settings.encoder == "tree", settings.phrases)


recipe = Recipe(
    name="sentiment",
    summary="sentence, with or without its tree -> sentiment (Stanford Sentiment Treebank, your tables)",
    load=load,
    task=ClassifyTask(),
    settings=FULL,
    small=dataclasses.replace(FULL, units=64, embedding=48, epochs=3, learning_rate=3e-3),
)
