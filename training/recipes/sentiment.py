"""A sentence in, its sentiment out, by a TreeLSTM over its tree or by a network over its words.

    seqattn train sentiment --data sst --set vectors=glove.txt
    seqattn train sentiment --data sst --set encoder=bidirectional --set sentiments=2
    seqattn train sentiment --data tweets.csv --set text=tweet --set target=label

Data: the Stanford Sentiment Treebank, in brackets; or a table, whose texts may be trees, too. Encoder: binary TreeLSTM
over given trees, balanced ones where none is given. Loss: cross-entropy at every node. Metric: share of right labels.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import sst
from seqattn_tf.training.recipes.base import Recipe, load_pairs
from seqattn_tf.training.tasks import ClassifySettings, ClassifyTask, setting


@dataclasses.dataclass(frozen=True)
class SentimentSettings(ClassifySettings):
    """Settings of a classifier of sentences, and of the treebank."""

    sentiments: int = setting(5, "of the treebank; 2 for positive and negative alone")
    phrases: bool = setting(True, "whether all phrases of the treebank are learned from, or sentences alone")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sentiments not in (2, 5):
            raise ValueError(f"sentiments: expected 2 or 5. Received: {self.sentiments}")


FULL = SentimentSettings(
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


def load(data: str | Path | None, settings: SentimentSettings) -> Splits:
    """The treebank, or a table."""
    if not sst.is_treebank(data):
        return load_pairs(data, settings)
    return sst.load(data, settings.sentiments == 2, settings.encoder == "tree", settings.phrases)


recipe = Recipe(
    name="sentiment",
    summary="sentence, with its tree or without -> sentiment (Stanford Sentiment Treebank, own tables)",
    load=load,
    task=ClassifyTask(),
    settings=FULL,
    small=dataclasses.replace(FULL, units=64, embedding=48, epochs=3, learning_rate=3e-3),
)
