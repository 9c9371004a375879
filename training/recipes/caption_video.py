"""Video captioning: a sentence about a clip, with the frames that each word attends to.

    seqattn train caption_video
    seqattn train caption_video --set attention_form=basic
    seqattn train caption_video --data clips/captions.csv --set clip_column=file --set caption_column=text \\
        --metric captions
    seqattn explain runs/caption_video clip=@clip.gif -o frames.png

Data: generated clips of shapes that act one after another, or GIFs and strips of frames with a table. Encoder: a
convolutional network for each frame, or for several frames together, and a bidirectional GRU over time. Decoder: GRU
with attention over the frames, or with only the last states (Yao et al., 2015). Loss: cross-entropy of the words.
Metric: share of exactly correct captions.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import clips
from seqattn_tf.training.recipes.base import Recipe, load_files
from seqattn_tf.training.tasks import CaptionVideoSettings, CaptionVideoTask, setting
from seqattn_tf.training.tasks.settings import TableSplit


@dataclasses.dataclass(frozen=True)
class _CaptionClipSettings(TableSplit, CaptionVideoSettings):
    """The settings of video captioning, the number of generated clips, and the columns of a table."""

    clip_column: str = setting("clip", "column or key of the clip file name")
    caption_column: str = setting("caption", "column or key of the caption")
    num_examples: int = setting(20_000, "generated training clips")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "num_examples")


FULL = _CaptionClipSettings(
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
    ema_decay=0.99,
    num_examples=60_000,
)


def load(data: str | Path | None, settings: _CaptionClipSettings) -> Splits:
    """Load generated clips, or clips with a table."""
    if data is None:
        return clips.load(settings.num_examples, seed=settings.seed)
    return load_files(data, "clip", settings.clip_column, settings.caption_column, settings)


recipe = Recipe(
    name="caption_video",
    summary="clip -> caption (generated clips, your GIFs or strips of frames)",
    load=load,
    task=CaptionVideoTask(),
    settings=FULL,
    small=dataclasses.replace(
        FULL, units=64, embedding=32, filters="16 24 32", num_examples=6_000, epochs=6, batch_size=64, ema_decay=0.0
    ),
)
