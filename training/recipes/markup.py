"""A picture of a formula in, its LaTeX out, with the part of the picture that each symbol looks at.

    seqattn train markup
    seqattn train markup --data formulas/latex.csv --set image=file --set caption=latex
    seqattn explain runs/markup image=@formula.png -o formula.png

Data: generated formulas of 73 symbols, rendered in five fonts; or pictures beside a table. Encoder: a convolutional
network, and a bidirectional LSTM along each row of its map (Deng et al., 2017). Decoder: LSTM with attention over the
map. Loss: cross-entropy of the symbols. Metric: formulas that are exactly right, and that look right when they are
rendered again; by length and by depth.
"""

import dataclasses
from pathlib import Path
from typing import Any

from seqattn_tf.encoder import RowEncoder
from seqattn_tf.lite.fields import Image
from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import formulas
from seqattn_tf.training.metrics import MARKUP, accuracy_by
from seqattn_tf.training.recipes.base import Recipe, load_files
from seqattn_tf.training.tasks import CaptionSettings, CaptionTask, setting
from seqattn_tf.training.tasks.settings import TableSplit


@dataclasses.dataclass(frozen=True)
class FormulaSettings(TableSplit, CaptionSettings):
    """Settings of what reads formulas, how many are drawn, and which columns a table of one's own has."""

    tall: int = setting(formulas.TALL, "pixels of a picture down, as the network sees it; one may be smaller")
    wide: int = setting(formulas.WIDE, "pixels across")
    read_units: int = setting(128, "of each direction along a row of the map")
    target_split: str = "spaces"
    image: str = setting("image", "column or key of a picture's name")
    caption: str = setting("caption", "column or key of its LaTeX, with spaces between symbols")
    examples: int = setting(40_000, "formulas that are drawn to learn from")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "examples", "tall", "wide", "read_units")

    def make_image(self) -> Image:
        """What reads a picture, which keeps its proportions."""
        return Image(self.tall, self.wide, pad=True)

    def make_encoder(self) -> RowEncoder:
        """What sees it and reads its rows."""
        sizes: dict[str, Any] = {"height": self.tall, "width": self.wide, "units": self.width, "frozen": self.frozen}
        sizes |= {"places": self.places, "dropout": self.map_dropout}
        return RowEncoder(self.read_units, self.cell, backbone=self.make_backbone(), **sizes)


FULL = FormulaSettings(
    units=192,
    embedding=64,
    dropout=0.1,
    label_smoothing=0.0,
    filters="32 64 96",
    batch_size=128,
    epochs=17,
    learning_rate=2e-3,
    warmup_steps=400,
    average=0.999,
    max_target=60,
    beam_width=3,
    alternatives=2,
)


def load(data: str | Path | None, settings: FormulaSettings) -> Splits:
    """Generated formulas, or pictures of one's own."""
    if data is None:
        return formulas.load(settings.examples, seed=settings.seed)
    return load_files(data, "image", settings.image, settings.caption, settings)


def by_length(answers: dict, references: dict, notes: dict) -> list[tuple[str, int, float]]:
    """Accuracy of ten lengths together."""
    tens = {key: (int(note.split()[0]) - 1) // 10 for key, note in notes.items()}
    found = accuracy_by(tens, answers, references) if notes else {}
    return [(f"{10 * int(str(ten)) + 1}-{10 * int(str(ten)) + 10}", *row) for ten, row in found.items()]


def _by_depth(answers: dict, references: dict, notes: dict) -> list[tuple[str, int, float]]:
    """Accuracy at each depth."""
    depths = {key: note.split()[1] for key, note in notes.items()}
    return [(str(key), *row) for key, row in accuracy_by(depths, answers, references).items()] if notes else []


recipe = Recipe(
    name="markup",
    summary="picture of a formula -> its LaTeX (generated formulas, own pictures)",
    load=load,
    task=CaptionTask(metrics=[MARKUP], groups={"accuracy by length": by_length, "accuracy by depth": _by_depth}),
    settings=FULL,
    small=dataclasses.replace(
        FULL, units=96, read_units=48, filters="16 32 48", examples=8_000, epochs=4, batch_size=64, average=0.0
    ),
)
