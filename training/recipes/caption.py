"""A picture in, a sentence about it out, with the part of the picture that each word looks at.

    seqattn train caption
    seqattn train caption --set conditioning=hard
    seqattn train caption --data flickr8k --metric captions --set backbone=efficientnet_lite0 \\
        --set pretrained=imagenet --set frozen=true --set side=224 --set units=512 --set min_count=5 --set penalty=1
    seqattn train caption --data tfds:coco_captions --set caption=captions/text --metric captions ...
    seqattn train caption --data emoji --set side=32 --set language=de
    seqattn train caption --data photos/captions.csv --set image=file --set caption=text --metric captions
    seqattn explain runs/caption image=@picture.png -o caption.png

Data: generated scenes of coloured shapes, Flickr8k, emoji, COCO, or pictures beside a table of captions. Encoder: a
small convolutional network, or a pretrained one cut at a map. Decoder: LSTM that sees the picture in its first state,
at every step, or by soft or hard attention over the map (Xu et al., 2015). Loss: cross-entropy of the words, and what
is asked of attention. Metric: captions that are exactly right, and how much of the attention lies on what is named.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits, tfds
from seqattn_tf.training.data.corpora import emoji, flickr8k, scenes
from seqattn_tf.training.data.finding import public_name
from seqattn_tf.training.recipes.base import Recipe, load_files
from seqattn_tf.training.tasks import CaptionSettings, CaptionTask, setting
from seqattn_tf.training.tasks.settings import TableSplit


@dataclasses.dataclass(frozen=True)
class PictureSettings(TableSplit, CaptionSettings):
    """Settings, how many scenes are drawn, and which columns a table of one's own has."""

    image: str = setting("image", "column or key of a picture's name")
    caption: str = setting("caption", "column, key or feature of what is said of it: captions/text in COCO")
    language: str = setting("en", "of the names of emoji")
    examples: int = setting(20_000, "scenes that are drawn to learn from")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "examples")


FULL = PictureSettings(
    units=128,
    embedding=64,
    dropout=0.1,
    label_smoothing=0.0,
    batch_size=64,
    epochs=12,
    learning_rate=3e-3,
    warmup_steps=200,
)


def load(data: str | Path | None, settings: PictureSettings) -> Splits:
    """Generated scenes, Flickr8k, emoji, a public set, or pictures of one's own."""
    if data is None:
        return scenes.load(settings.examples, seed=settings.seed)
    if flickr8k.is_flickr8k(data):
        return flickr8k.load_pictures(data)
    if emoji.is_emoji(data):
        return emoji.load(data, settings.language)
    if name := public_name(data):
        return tfds.load_pictures(name, settings.image, settings.caption)
    return load_files(data, "image", settings.image, settings.caption, settings)


recipe = Recipe(
    name="caption",
    summary="picture -> a sentence about it (generated scenes, Flickr8k, emoji, COCO, own pictures)",
    load=load,
    task=CaptionTask(),
    settings=FULL,
    small=dataclasses.replace(FULL, units=64, embedding=32, filters="16 32 64", epochs=3),
)
