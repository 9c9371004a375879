"""The base of tasks on pictures: how pictures are read, and feature maps in their place if the backbone is frozen."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic

from seqattn_tf.core.columns import Column
from seqattn_tf.core.registry import arguments_of
from seqattn_tf.encoders import GridEncoder
from seqattn_tf.lite.fields import Image, Map
from seqattn_tf.presets import open_model, presets
from seqattn_tf.training.data import Example, Examples, Splits
from seqattn_tf.training.feature_maps import Mapped, map_splits
from seqattn_tf.training.soft_targets import SoftTargets
from seqattn_tf.training.tasks.base import AnyModel, AnySettings, Report, Task, Training
from seqattn_tf.training.tasks.settings import Settings, setting
from seqattn_tf.vision import Backbone

PICTURE = "image"  # the name of the input


@dataclasses.dataclass(frozen=True)
class BackboneSettings(Settings):
    """Settings of the backbone, which computes a feature map of a picture or of each frame of a clip."""

    backbone: str = setting("cnn", "cnn, efficientnet_lite0, application, or a plug-in")
    filters: str = setting("32 64 96", "filters per stage of a cnn")
    output_stride: int = setting(32, "pixels per cell of an efficientnet_lite0: 16 or 32")
    application: str = setting("VGG19", "name of a model in keras.applications")
    layer: str = setting("", "layer of the application to use as output; empty for the default")
    pretrained: str = setting("", "initial backbone weights: imagenet, a file, or a run with the same backbone")
    frozen: bool = setting(False, "keep the backbone weights fixed during training")
    image_size: int = setting(80, "height and width in pixels to which images and frames are resized")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "image_size")

    def make_backbone(self) -> Backbone:
        """Create the backbone with its initial weights."""
        kind = Backbone.member(self.backbone)
        arguments = arguments_of(kind, self)
        if "filters" in arguments:
            if not all(part.isdecimal() for part in self.filters.split()):
                raise ValueError(f"filters: expected numbers separated by spaces. Received: {self.filters!r}")
            arguments["filters"] = tuple(map(int, self.filters.split()))
        backbone = kind(**arguments)
        if self.pretrained:
            begin(backbone, self.pretrained)
        return backbone


@dataclasses.dataclass(frozen=True)
class ImageSettings(BackboneSettings):
    """Settings of a picture encoder."""

    map_units: int = setting(0, "units to which feature map cells are projected; 0 for no projection")
    position_embeddings: bool = setting(True, "add learned position embeddings to the cells")
    map_dropout: float = setting(0.0, "dropout rate on the feature map")
    feature_cache: str = setting(
        "", "folder that caches the feature maps of a frozen backbone; empty for the user's cache"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(0, "map_units")

    def make_image(self) -> Image:
        """Create the input field for pictures."""
        return Image(self.image_size, self.image_size)

    def make_encoder(self) -> GridEncoder:
        """Create the encoder, with the initial weights of its backbone."""
        sizes: dict[str, Any] = {
            "units": self.map_units,
            "frozen": self.frozen,
            "position_embeddings": self.position_embeddings,
            "dropout": self.map_dropout,
        }
        return GridEncoder(self.make_backbone(), self.image_size, self.image_size, **sizes)


@dataclasses.dataclass(frozen=True)
class ImageTask(Task[AnySettings, AnyModel], Generic[AnySettings, AnyModel]):
    """Training on pictures. A frozen backbone computes each feature map once, and training reads these maps."""

    def open(
        self,
        settings: AnySettings,
        splits: Splits,
        model: AnyModel | None = None,
        soft_targets: SoftTargets | None = None,
    ) -> Training[AnySettings, AnyModel]:
        """Set up training, with pictures replaced by their feature maps if the backbone is frozen."""
        model = model or self.create_model(settings, splits)
        return Training(self, settings, model, mapped(splits, settings, model), soft_targets)

    def inputs(self, model: AnyModel, examples: Examples) -> dict[str, Column]:
        return super().inputs(of_maps(model, examples), examples)

    def measure(
        self, model: AnyModel, examples: Sequence[Example], notes: Mapping[str, str] | None = None, quiet: bool = True
    ) -> Report:
        return super().measure(of_maps(model, examples), examples, notes, quiet)


def begin(backbone: Backbone, pretrained: str) -> None:
    """Initialize a backbone from named weights or a file, or from the backbone of a preset or a run."""
    if pretrained not in presets() and not (Path(pretrained) / "config.json").is_file():
        return backbone.load(pretrained)
    encoder = getattr(open_model(pretrained, "keras").network, "pictures", None)
    held: Backbone | None = encoder and encoder.backbone
    given = held and (held.name_in_registry, held.arguments)
    if held is None or given != (backbone.name_in_registry, backbone.arguments):
        wanted = f"{backbone.name_in_registry} of {backbone.arguments}"
        raise ValueError(f"pretrained: expected a run with the backbone {wanted}. Received: {pretrained}, {given}")
    backbone.set_weights(held.get_weights())


def mapped(splits: Splits, settings: Any, model: Any) -> Splits:
    """Replace pictures by their feature maps if the backbone is frozen; otherwise return the examples unchanged."""
    encoder, image = model.network.pictures, model.inputs[PICTURE]
    if not encoder.frozen or not isinstance(image, Image):
        return splits
    return map_splits(splits, PICTURE, image, encoder, settings.feature_cache)


def of_maps(model: AnyModel, examples: Sequence[Example]) -> AnyModel:
    """Return the model, or a variant that reads feature maps if the examples have those in place of pictures."""
    if not len(examples) or not isinstance(examples[0].inputs[PICTURE], Mapped):
        return model
    encoder = model.network.pictures
    field = Map(encoder.rows, encoder.columns, encoder.backbone.channels)
    return type(model)(model.network, {**model.inputs, PICTURE: field}, model.target, **model.settings)
