"""A trained run in less space, and what that costs: its figures before and after."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from seqattn_tf.models import Model, load
from seqattn_tf.models.base import COMPACT, read_config
from seqattn_tf.models.weights import check_form
from seqattn_tf.training import run


@dataclasses.dataclass(frozen=True)
class Compacted:
    """What was measured: each figure before and after, and the bytes of the weights, without those of an optimizer."""

    figures: Mapping[str, tuple[float, float]]
    sizes: tuple[int, int]

    def table(self) -> list[tuple[str, str, str, str]]:
        """A row for each figure and one for the size, after their heading."""
        rows = [("", "before", "after", "difference")]
        rows += [(name.upper(), f"{a:.4f}", f"{b:.4f}", f"{b - a:+.4f}") for name, (a, b) in self.figures.items()]
        before, after = (size / 1e6 for size in self.sizes)
        return [*rows, ("MB", f"{before:.2f}", f"{after:.2f}", f"{after - before:+.2f}")]


def compact(
    source: Path, folder: Path, weights: str = "int8", data: str | Path | None = None, split: str = "dev"
) -> Compacted:
    """Write the model of a run with its record into a new folder, and measure both as they are loaded.

    Args:
        source: the folder of the run.
        folder: the new one.
        weights: how they are stored, see `Model.save`.
        data: where they are, if not where they were in training.
        split: what is measured on.

    Raises:
        ValueError: the folder holds a model, or the run cannot be measured; nothing is written then.
    """
    check_form(weights)
    if (folder / "config.json").exists():
        raise ValueError(f"{folder}: expected a folder without a model. Received: one with config.json")
    before = run.evaluate(source, data, split).figures
    model = load(source)
    model.save(folder, read_config(source)["record"], compact=weights)
    after = run.evaluate(folder, data, split).figures
    return Compacted(
        {name: (before[name], after[name]) for name in before}, (_size(source, model), _size(folder, model))
    )


def _size(folder: Path, model: Model) -> int:
    """The bytes of the weights of a folder: of its compact file, or else in memory.

    `model.keras` is not counted: it also holds the state of the optimizer.
    """
    path = folder / COMPACT
    return path.stat().st_size if path.is_file() else sum(weight.numpy().nbytes for weight in model.network.weights)
