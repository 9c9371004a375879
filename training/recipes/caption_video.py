"""A clip in, a sentence about it out, with the frames that each word looks at.

    seqattn train caption_video
    seqattn train caption_video --set form=basic
    seqattn train caption_video --data clips/captions.csv --set clip=file --set caption=text --metric captions
    seqattn explain runs/caption_video clip=@clip.gif -o frames.png

Data: generated clips of shapes that do something one after another, or GIFs and strips of frames beside a table.
Encoder: a convolutional network for each frame, or for some together, and a bidirectional GRU over time. Decoder: GRU
with attention over the frames, or with the last states alone (Yao et al., 2015). Loss: cross-entropy of the words.
Metric: captions that are exactly right.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import clips
from seqattn_tf.training.recipes.base import Recipe, load_files
from seqattn_tf.training.tasks import CaptionVideoSettings, CaptionVideoTask, setting
from seqattn_tf.training.tasks.settings import TableSplit


@dataclasses.dataclass(frozen=True)
class CaptionClipSettings(TableSplit, CaptionVideoSettings):
    """Settings, how many clips are drawn, and which columns a table of one's own has."""

    clip: str = setting("clip", "column or key of a clip's file")
    caption: str = setting("caption", "column or key of what is said of it")
    examples: int = setting(20_000, "clips that are drawn to learn from")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "examples")


FULL = CaptionClipSettings(
    units=128,
    embedding=64,
    cell="gru",
    filters="24 48 64",
    dropout=0.1,
    label_smoothing=0.0,
    batch_size=128,
    epochs=14,
    learning_rate=2e-3,
    warmup_steps=200,
    average=0.99,
    examples=60_000,
)


def load(data: str | Path | None, settings: CaptionClipSettings) -> Splits:
    """Generated clips, or some of one's own."""
    if data is None:
        return clips.load(settings.examples, seed=settings.seed)
    return load_files(data, "clip", settings.clip, settings.caption, settings)


recipe = Recipe(
    name="caption_video",
    summary="clip -> a sentence about it (generated clips, own GIFs or strips of frames)",
    load=load,
    task=CaptionVideoTask(),
    settings=FULL,
    small=dataclasses.replace(
        FULL, units=64, embedding=32, filters="16 24 32", examples=6_000, epochs=6, batch_size=64, average=0.0
    ),
)
