"""Image captioning: a sentence about an image, with the part of the image that each word attends to.

    seqattn train caption
    seqattn train caption --set conditioning=hard
    seqattn train caption --data flickr8k --metric captions --set backbone=efficientnet_lite0 \\
        --set pretrained=imagenet --set frozen=true --set image_size=224 --set units=512 --set min_count=5 \\
        --set doubly_stochastic_weight=1
    seqattn train caption --data tfds:coco_captions --set caption_column=captions/text --metric captions ...
    seqattn train caption --data emoji --set image_size=32 --set language=de
    seqattn train caption --data photos/captions.csv --set image_column=file --set caption_column=text --metric captions
    seqattn explain runs/caption image=@picture.png -o caption.png

Data: generated scenes of colored shapes, Flickr8k, emoji, COCO, or images with a table of captions. Encoder: a small
convolutional network, or a pretrained one up to a feature map. Decoder: LSTM that gets the image in its initial state,
at every step, or by soft or hard attention over the map (Xu et al., 2015). Loss: cross-entropy of the words, and terms
for the attention. Metric: share of exactly correct captions, and share of the attention on the named objects.
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
class _PictureSettings(TableSplit, CaptionSettings):
    """The settings of captioning, the number of generated scenes, and the columns of a table."""

    image_column: str = setting("image", "column or key of the image file name")
    caption_column: str = setting("caption", "column, key or feature of the caption; captions/text for COCO")
    language: str = setting("en", "language of the emoji names")
    num_examples: int = setting(20_000, "generated training scenes")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "num_examples")


FULL = _PictureSettings(
    units=128,
    embedding=64,
    dropout=0.1,
    label_smoothing=0.0,
    batch_size=64,
    epochs=12,
    learning_rate=3e-3,
    warmup_steps=200,
)


def load(data: str | Path | None, settings: _PictureSettings) -> Splits:
    """Load generated scenes, Flickr8k, emoji, a public dataset, or images with a table."""
    if data is None:
        return scenes.load(settings.num_examples, seed=settings.seed)
    if flickr8k.is_flickr8k(data):
        return flickr8k.load_pictures(data)
    if emoji.is_emoji(data):
        return emoji.load(data, settings.language)
    if name := public_name(data):
        return tfds.load_pictures(name, settings.image_column, settings.caption_column)
    return load_files(data, "image", settings.image_column, settings.caption_column, settings)


recipe = Recipe(
    name="caption",
    summary="image -> caption (generated scenes, Flickr8k, emoji, COCO, your images)",
    load=load,
    task=CaptionTask(),
    settings=FULL,
    small=dataclasses.replace(FULL, units=64, embedding=32, filters="16 32 64", epochs=3),
)
