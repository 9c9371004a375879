"""Video classification: a label for a clip, with the weights of its frames.

    seqattn train classify_video
    seqattn train classify_video --set attention_form=global
    seqattn train classify_video --data clips/labels.csv --set clip_column=file --set label_column=what

Data: generated clips of shapes, labeled by the actions in them and their order, independent of the shapes; or GIFs and
strips of frames with a table. Encoder: a convolutional network for each frame, or for several frames together, and a
bidirectional GRU over time; the label comes from its last states, or from attention over all frames. Loss:
cross-entropy of the labels. Metric: share of correct labels.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import clips
from seqattn_tf.training.recipes.base import Recipe, load_files
from seqattn_tf.training.tasks import ClassifyVideoTask, VideoSettings, setting
from seqattn_tf.training.tasks.settings import TableSplit


@dataclasses.dataclass(frozen=True)
class _ClassifyClipSettings(TableSplit, VideoSettings):
    """The settings of video classification, the number of generated clips, and the columns of a table."""

    clip_column: str = setting("clip", "column or key of the clip file name")
    label_column: str = setting("label", "column or key of the label")
    num_examples: int = setting(20_000, "generated training clips")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "num_examples")


FULL = _ClassifyClipSettings(
    units=128,
    cell="gru",
    filters="24 48 64",
    dropout=0.1,
    label_smoothing=0.0,
    batch_size=128,
    epochs=8,
    learning_rate=2e-3,
    warmup_steps=200,
    ema_decay=0.99,
)


def load(data: str | Path | None, settings: _ClassifyClipSettings) -> Splits:
    """Load generated clips, or clips with a table."""
    if data is None:
        return clips.load(settings.num_examples, seed=settings.seed, labels=True)
    return load_files(data, "clip", settings.clip_column, settings.label_column, settings)


recipe = Recipe(
    name="classify_video",
    summary="clip -> label (generated clips, your GIFs or strips of frames)",
    load=load,
    task=ClassifyVideoTask(),
    settings=FULL,
    small=dataclasses.replace(
        FULL, units=64, filters="16 24 32", num_examples=6_000, epochs=5, batch_size=64, ema_decay=0.0
    ),
)
