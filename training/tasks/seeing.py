"""What trainings on pictures share: how a picture is read, and maps in its place where a backbone does not learn."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic

from seqattn_tf.core.columns import Column
from seqattn_tf.core.registry import arguments_of
from seqattn_tf.encoder import GridEncoder
from seqattn_tf.lite.fields import Image, Map
from seqattn_tf.models.presets import open_model, presets
from seqattn_tf.training.data import Example, Examples, Splits
from seqattn_tf.training.lessons import Lessons
from seqattn_tf.training.maps import Mapped, map_splits
from seqattn_tf.training.tasks.base import AnyModel, AnySettings, Report, Task, Training
from seqattn_tf.training.tasks.settings import Settings, setting
from seqattn_tf.vision import Backbone

PICTURE = "image"  # the name of the input


@dataclasses.dataclass(frozen=True)
class BackboneSettings(Settings):
    """Settings of what makes a map of a picture, or of each frame of a clip."""

    backbone: str = setting("cnn", "or efficientnet_lite0, application, or one of a plug-in")
    filters: str = setting("32 64 96", "of each stage of a cnn")
    step: int = setting(32, "pixels from cell to cell of an efficientnet_lite0: 16 or 32")
    application: str = setting("VGG19", "the name in keras.applications")
    layer: str = setting("", "of an application, where it is cut; empty for the usual one")
    pretrained: str = setting(
        "", "weights that the backbone begins with: imagenet, a file, or a run that has one alike"
    )
    frozen: bool = setting(False, "whether the backbone stays as it is while the rest learns")
    side: int = setting(80, "pixels of a picture or a frame across and down, as the network sees it")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "side")

    def make_backbone(self) -> Backbone:
        """The backbone, with the weights it begins with."""
        kind = Backbone.member(self.backbone)
        arguments = arguments_of(kind, self)
        if "filters" in arguments:
            if not all(part.isdecimal() for part in self.filters.split()):
                raise ValueError(f"filters: expected numbers with spaces between. Received: {self.filters!r}")
            arguments["filters"] = tuple(map(int, self.filters.split()))
        backbone = kind(**arguments)
        if self.pretrained:
            begin(backbone, self.pretrained)
        return backbone


@dataclasses.dataclass(frozen=True)
class SeeingSettings(BackboneSettings):
    """Settings of what reads a picture."""

    width: int = setting(0, "numbers of a cell of the map after a projection; 0 for as many as it has")
    places: bool = setting(True, "whether a cell also learns where it is")
    map_dropout: float = setting(0.0, "on the map")
    maps: str = setting("", "folder that the maps of a frozen backbone are kept in; empty for the user's cache")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(0, "width")

    def make_image(self) -> Image:
        """What reads a picture."""
        return Image(self.side, self.side)

    def make_encoder(self) -> GridEncoder:
        """What sees it, its backbone with the weights it begins with."""
        sizes: dict[str, Any] = {
            "units": self.width,
            "frozen": self.frozen,
            "places": self.places,
            "dropout": self.map_dropout,
        }
        return GridEncoder(self.make_backbone(), self.side, self.side, **sizes)


@dataclasses.dataclass(frozen=True)
class SeeingTask(Task[AnySettings, AnyModel], Generic[AnySettings, AnyModel]):
    """A training on pictures; a frozen backbone sees each of them once, and its maps are learned from."""

    def open(
        self,
        settings: AnySettings,
        splits: Splits,
        model: AnyModel | None = None,
        lessons: Lessons | None = None,
    ) -> Training[AnySettings, AnyModel]:
        """Everything that a training needs; in place of pictures, their maps, where the backbone does not learn."""
        model = model or self.begin(settings, splits)
        return Training(self, settings, model, mapped(splits, settings, model), lessons)

    def inputs(self, model: AnyModel, examples: Examples) -> dict[str, Column]:
        """The pictures or their maps, and what else goes in."""
        return super().inputs(of_maps(model, examples), examples)

    def measure(
        self, model: AnyModel, examples: Sequence[Example], notes: Mapping[str, str] | None = None, quiet: bool = True
    ) -> Report:
        """The figures of the answers to pictures, or to their maps."""
        return super().measure(of_maps(model, examples), examples, notes, quiet)


def begin(backbone: Backbone, pretrained: str) -> None:
    """Give a backbone the weights of a name or a file, or those of the backbone of a preset or a run."""
    if pretrained not in presets() and not (Path(pretrained) / "config.json").is_file():
        return backbone.load(pretrained)
    encoder = getattr(open_model(pretrained).network, "pictures", None)
    held: Backbone | None = encoder and encoder.backbone
    given = held and (held.name_in_registry, held.arguments)
    if held is None or given != (backbone.name_in_registry, backbone.arguments):
        wanted = f"{backbone.name_in_registry} of {backbone.arguments}"
        raise ValueError(
            f"pretrained: expected the run of a model with a backbone {wanted}. Received: {pretrained}, {given}"
        )
    backbone.set_weights(held.get_weights())


def mapped(splits: Splits, settings: Any, model: Any) -> Splits:
    """The examples with the maps of their pictures, where a frozen backbone makes them; else as they are."""
    encoder, image = model.network.pictures, model.inputs[PICTURE]
    if not encoder.frozen or not isinstance(image, Image):
        return splits
    return map_splits(splits, PICTURE, image, encoder, settings.maps)


def of_maps(model: AnyModel, examples: Sequence[Example]) -> AnyModel:
    """The model itself; where the examples have maps in place of pictures, the same as it reads those."""
    if not len(examples) or not isinstance(examples[0].inputs[PICTURE], Mapped):
        return model
    encoder = model.network.pictures
    field = Map(encoder.rows, encoder.columns, encoder.backbone.channels)
    return type(model)(model.network, {**model.inputs, PICTURE: field}, model.target, **model.settings)
