"""Formula recognition: the LaTeX source of an image, with the part of the image that each symbol attends to.

    seqattn train image_to_latex
    seqattn train image_to_latex --data formulas/latex.csv --set image_column=file --set caption_column=latex
    seqattn explain runs/image_to_latex image=@formula.png -o formula.png

Data: generated formulas over 73 symbols, rendered in five fonts; or images with a table. Encoder: a convolutional
network, and a bidirectional LSTM along each row of its feature map (Deng et al., 2017). Decoder: LSTM with attention
over the map. Loss: cross-entropy of the symbols. Metric: share of formulas that are exactly correct, and of those that
are rendered correctly; by length and by depth.
"""

import dataclasses
from pathlib import Path
from typing import Any

from seqattn_tf.encoders import RowEncoder
from seqattn_tf.lite.fields import Image
from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import formulas
from seqattn_tf.training.metrics import LATEX, accuracy_by
from seqattn_tf.training.recipes.base import Recipe, load_files
from seqattn_tf.training.tasks import CaptionSettings, CaptionTask, setting
from seqattn_tf.training.tasks.settings import TableSplit


@dataclasses.dataclass(frozen=True)
class _FormulaSettings(TableSplit, CaptionSettings):
    """The settings of formula recognition, the number of generated formulas, and the columns of a table."""

    image_height: int = setting(formulas.TALL, "height in pixels; larger images are resized, smaller ones are padded")
    image_width: int = setting(formulas.WIDE, "width in pixels")
    row_units: int = setting(128, "units per direction of the network along each row of the feature map")
    target_tokenizer: str = "spaces"
    image_column: str = setting("image", "column or key of the image file name")
    caption_column: str = setting("caption", "column or key of the LaTeX, tokens separated by spaces")
    num_examples: int = setting(40_000, "generated training formulas")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "num_examples", "image_height", "image_width", "row_units")

    def make_image(self) -> Image:
        """Create the image field, which preserves proportions."""
        return Image(self.image_height, self.image_width, pad=True)

    def make_encoder(self) -> RowEncoder:
        """Create the encoder of an image and the rows of its feature map."""
        sizes: dict[str, Any] = {
            "height": self.image_height,
            "width": self.image_width,
            "units": self.map_units,
            "frozen": self.frozen,
        }
        sizes |= {"position_embeddings": self.position_embeddings, "dropout": self.map_dropout}
        return RowEncoder(self.row_units, self.cell, backbone=self.make_backbone(), **sizes)


FULL = _FormulaSettings(
    units=192,
    embedding=64,
    dropout=0.1,
    label_smoothing=0.0,
    filters="32 64 96",
    batch_size=128,
    epochs=17,
    learning_rate=2e-3,
    warmup_steps=400,
    ema_decay=0.999,
    max_target_length=60,
    beam_width=3,
    alternatives=2,
)


def load(data: str | Path | None, settings: _FormulaSettings) -> Splits:
    """Load generated formulas, or images with a table."""
    if data is None:
        return formulas.load(settings.num_examples, seed=settings.seed)
    return load_files(data, "image", settings.image_column, settings.caption_column, settings)


def by_length(answers: dict, references: dict, notes: dict) -> list[tuple[str, int, float]]:
    """Return the accuracy for each group of ten lengths."""
    tens = {key: (int(note.split()[0]) - 1) // 10 for key, note in notes.items()}
    found = accuracy_by(tens, answers, references) if notes else {}
    return [(f"{10 * int(str(ten)) + 1}-{10 * int(str(ten)) + 10}", *row) for ten, row in found.items()]


def _by_depth(answers: dict, references: dict, notes: dict) -> list[tuple[str, int, float]]:
    """Return the accuracy for each depth."""
    depths = {key: note.split()[1] for key, note in notes.items()}
    return [(str(key), *row) for key, row in accuracy_by(depths, answers, references).items()] if notes else []


recipe = Recipe(
    name="image_to_latex",
    summary="image of a formula -> LaTeX (generated formulas, your images)",
    load=load,
    task=CaptionTask(metrics=[LATEX], groups={"accuracy by length": by_length, "accuracy by depth": _by_depth}),
    settings=FULL,
    small=dataclasses.replace(
        FULL, units=96, row_units=48, filters="16 32 48", num_examples=8_000, epochs=4, batch_size=64, ema_decay=0.0
    ),
)
