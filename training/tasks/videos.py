"""Tasks that map clips to sentences or labels, with or without local structure, and with or without attention."""

import dataclasses
from typing import Any

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.encoders import ClipEncoder
from seqattn_tf.lite.fields import Clip
from seqattn_tf.lite.targets import Label, Symbols
from seqattn_tf.models import Classifier, ClassifierNetwork, EncoderDecoder, Seq2Seq
from seqattn_tf.training.data import Examples
from seqattn_tf.training.tasks.base import Task, refuse_few, without_beam
from seqattn_tf.training.tasks.images import BackboneSettings
from seqattn_tf.training.tasks.settings import CaptionWords, SearchSettings, setting

_CLIP = "clip"  # the name of the input
FORMS = ("basic", "local", "global", "both")


@dataclasses.dataclass(frozen=True)
class VideoSettings(BackboneSettings):
    """Settings of a clip encoder."""

    image_size: int = 48
    attention_form: str = setting(
        "both", "basic (frames, then a network), local (windows of frames), global (attention over time), both"
    )
    frames_per_window: int = setting(3, "frames per window of local attention")
    max_frames: int = setting(64, "maximum frames of a clip; a longer one is an error")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "max_frames")
        self._refuse_less(2, "frames_per_window")
        if self.attention_form not in FORMS:
            raise ValueError(f"attention_form: expected one of {FORMS}. Received: {self.attention_form!r}")

    @property
    def attends(self) -> bool:
        """Whether there is attention over time."""
        return self.attention_form in ("global", "both")

    def make_field(self) -> Clip:
        """Create the input field for clips."""
        return Clip(self.image_size, self.image_size, limit=self.max_frames)

    def make_encoder(self) -> ClipEncoder:
        """Create the encoder, with the initial weights of its backbone."""
        local = self.frames_per_window if self.attention_form in ("local", "both") else 1
        sizes: dict[str, Any] = {"units": self.units, "cell": self.cell, "dropout": self.dropout, "frozen": self.frozen}
        return ClipEncoder(self.make_backbone(), self.image_size, self.image_size, local=local, **sizes)


@dataclasses.dataclass(frozen=True)
class CaptionVideoSettings(SearchSettings, CaptionWords, VideoSettings):
    """Settings of a model that describes clips."""


@dataclasses.dataclass(frozen=True)
class CaptionVideoTask(Task[CaptionVideoSettings, Seq2Seq]):
    """Training of a `Seq2Seq` that describes clips."""

    def build(self, settings: CaptionVideoSettings, train: Examples) -> Seq2Seq:
        limits: dict[str, Any] = {"tokenizer": settings.target_tokenizer, "min_count": settings.min_count}
        target = Symbols.learn(train.targets, limit=settings.max_target_length, **limits)
        refuse_few(target.rules, "caption vocabulary")
        sizes = arguments_of(EncoderDecoder.of_encoder, settings)
        conditioning = "attention" if settings.attends else "input"
        network = EncoderDecoder.of_encoder(
            settings.make_encoder(), target.rules.size, conditioning=conditioning, **sizes
        )
        how = arguments_of(Seq2Seq, settings)
        return Seq2Seq(network, {_CLIP: settings.make_field()}, target, max_length_ratio=0, **how)

    def fast_variant(self, model: Seq2Seq) -> Seq2Seq:
        return without_beam(model)


@dataclasses.dataclass(frozen=True)
class ClassifyVideoTask(Task[VideoSettings, Classifier]):
    """Training of a `Classifier` of clips."""

    def build(self, settings: VideoSettings, train: Examples) -> Classifier:
        target, pool = Label.learn(train.targets), "attention" if settings.attends else "last"
        network = ClassifierNetwork(settings.make_encoder(), target.size, pool=pool, dropout=settings.dropout)
        return Classifier(network, {_CLIP: settings.make_field()}, target)
