"""Clips to sentences and to labels, in four forms: with local structure or without, with attention or without."""

import dataclasses
from typing import Any

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.encoder import ClipEncoder
from seqattn_tf.lite.fields import Clip
from seqattn_tf.lite.targets import Label, Symbols
from seqattn_tf.models import Classifier, ClassifierNetwork, EncoderDecoder, Seq2Seq
from seqattn_tf.training.data import Examples
from seqattn_tf.training.tasks.base import Task, refuse_few, without_beam
from seqattn_tf.training.tasks.seeing import BackboneSettings
from seqattn_tf.training.tasks.settings import SearchSettings, setting

_CLIP = "clip"  # the name of the input
FORMS = ("basic", "local", "global", "both")


@dataclasses.dataclass(frozen=True)
class WatchSettings(BackboneSettings):
    """Settings of what watches a clip."""

    side: int = 48
    form: str = setting(
        "both", "basic: frames, then a network; local: some frames seen together; global: attention over time; both"
    )
    together: int = setting(3, "frames that are seen together, where the form is local")
    frames: int = setting(64, "of a clip, at most; a longer one is refused")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "frames")
        self._refuse_less(2, "together")
        if self.form not in FORMS:
            raise ValueError(f"form: expected one of {FORMS}. Received: {self.form!r}")

    @property
    def attends(self) -> bool:
        """Whether there is attention over time."""
        return self.form in ("global", "both")

    def make_field(self) -> Clip:
        """What reads a clip."""
        return Clip(self.side, self.side, limit=self.frames)

    def make_encoder(self) -> ClipEncoder:
        """What watches it."""
        local = self.together if self.form in ("local", "both") else 1
        sizes: dict[str, Any] = {"units": self.units, "cell": self.cell, "dropout": self.dropout, "frozen": self.frozen}
        return ClipEncoder(self.make_backbone(), self.side, self.side, local=local, **sizes)


@dataclasses.dataclass(frozen=True)
class CaptionVideoSettings(SearchSettings, WatchSettings):
    """Settings of what says what happens in a clip."""

    target_split: str = setting("words", "what a symbol of a caption is: words, subwords, characters, spaces")
    min_count: int = setting(1, "how often a symbol is seen to be known")
    max_target: int = setting(40, "symbols; a longer caption is cut, and not learned from")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "max_target", "min_count")


@dataclasses.dataclass(frozen=True)
class CaptionVideoTask(Task[CaptionVideoSettings, Seq2Seq]):
    """Training of a `Seq2Seq` that watches."""

    def build(self, settings: CaptionVideoSettings, train: Examples) -> Seq2Seq:
        """The words of the training captions, and a network of their number."""
        limits: dict[str, Any] = {"split": settings.target_split, "min_count": settings.min_count}
        target = Symbols.learn(train.targets, limit=settings.max_target, **limits)
        refuse_few(target.rules, "vocabulary of the captions")
        sizes = arguments_of(EncoderDecoder.of_encoder, settings)
        context = "attention" if settings.attends else "input"
        network = EncoderDecoder.of_encoder(settings.make_encoder(), target.rules.size, context=context, **sizes)
        how = arguments_of(Seq2Seq, settings)
        return Seq2Seq(network, {_CLIP: settings.make_field()}, target, max_length_ratio=0, **how)

    def quick(self, model: Seq2Seq) -> Seq2Seq:
        """The same without a beam."""
        return without_beam(model)


@dataclasses.dataclass(frozen=True)
class ClassifyVideoTask(Task[WatchSettings, Classifier]):
    """Training of a `Classifier` that watches."""

    def build(self, settings: WatchSettings, train: Examples) -> Classifier:
        """The labels of the training clips, and a network of their number."""
        target, pool = Label.learn(train.targets), "attention" if settings.attends else "last"
        network = ClassifierNetwork(settings.make_encoder(), target.size, pool=pool, dropout=settings.dropout)
        return Classifier(network, {_CLIP: settings.make_field()}, target)
