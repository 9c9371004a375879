"""A clip in, its label out, with the frames that counted.

    seqattn train classify_video
    seqattn train classify_video --set form=global
    seqattn train classify_video --data clips/labels.csv --set clip=file --set label=what

Data: generated clips of shapes, labelled by what is done in them and in which order, whoever does it; or GIFs and
strips of frames beside a table. Encoder: a convolutional network for each frame, or for some together, and a
bidirectional GRU over time; the label from its last states, or from attention over all. Loss: cross-entropy of the
labels. Metric: share of right labels.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import clips
from seqattn_tf.training.recipes.base import Recipe, load_files
from seqattn_tf.training.tasks import ClassifyVideoTask, WatchSettings, setting
from seqattn_tf.training.tasks.settings import TableSplit


@dataclasses.dataclass(frozen=True)
class ClassifyClipSettings(TableSplit, WatchSettings):
    """Settings, how many clips are drawn, and which columns a table of one's own has."""

    clip: str = setting("clip", "column or key of a clip's file")
    label: str = setting("label", "column or key of its label")
    examples: int = setting(20_000, "clips that are drawn to learn from")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "examples")


FULL = ClassifyClipSettings(
    units=128,
    cell="gru",
    filters="24 48 64",
    dropout=0.1,
    label_smoothing=0.0,
    batch_size=128,
    epochs=8,
    learning_rate=2e-3,
    warmup_steps=200,
    average=0.99,
)


def load(data: str | Path | None, settings: ClassifyClipSettings) -> Splits:
    """Generated clips, or some of one's own."""
    if data is None:
        return clips.load(settings.examples, seed=settings.seed, labels=True)
    return load_files(data, "clip", settings.clip, settings.label, settings)


recipe = Recipe(
    name="classify_video",
    summary="clip -> label (generated clips, own GIFs or strips of frames)",
    load=load,
    task=ClassifyVideoTask(),
    settings=FULL,
    small=dataclasses.replace(FULL, units=64, filters="16 24 32", examples=6_000, epochs=5, batch_size=64, average=0.0),
)
