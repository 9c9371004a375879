"""Compression of a trained run, with its metrics before and after."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from seqattn_tf.lite.formats import COMPACT
from seqattn_tf.models import Model, load
from seqattn_tf.models.base import read_config
from seqattn_tf.models.weights import check_form
from seqattn_tf.training.evaluation import evaluate


@dataclasses.dataclass(frozen=True)
class Quantized:
    """Metrics and sizes before and after quantization. Sizes are the bytes of the weights, without optimizer state."""

    metrics: Mapping[str, tuple[float, float]]
    sizes: tuple[int, int]

    def table(self) -> list[tuple[str, str, str, str]]:
        """Return a title row, a row for each metric, and one for the size."""
        rows = [("", "before", "after", "difference")]
        rows += [(name, f"{a:.4f}", f"{b:.4f}", f"{b - a:+.4f}") for name, (a, b) in self.metrics.items()]
        before, after = (size / 1e6 for size in self.sizes)
        return [*rows, ("MB", f"{before:.2f}", f"{after:.2f}", f"{after - before:+.2f}")]


def quantize(
    source: Path, folder: Path, dtype: str = "int8", data: str | Path | None = None, split: str = "dev"
) -> Quantized:
    """Save the model of a run in a compact form with its record in a new folder, and evaluate both.

    Args:
        source: The folder of the run.
        folder: The new folder.
        dtype: The storage type of the weights, see `Model.save`.
        data: The location of the data, if it has changed since training.
        split: The split to evaluate on.

    Raises:
        ValueError: If the folder already contains a model, or if the run cannot be evaluated; nothing is written then.
    """
    check_form(dtype)
    if (folder / "config.json").exists():
        raise ValueError(f"{folder}: expected a folder without a model. Received: a folder with config.json")
    before = evaluate(source, data, split).metrics
    model = load(source)
    model.save(folder, read_config(source)["record"], compact=dtype)
    after = evaluate(folder, data, split).metrics
    return Quantized(
        {name: (before[name], after[name]) for name in before}, (_size(source, model), _size(folder, model))
    )


def _size(folder: Path, model: Model) -> int:
    """Return the bytes of the weights: of the compact file if there is one, otherwise in memory.

    `model.keras` is not counted, because it also contains the state of the optimizer.
    """
    path = folder / COMPACT
    return path.stat().st_size if path.is_file() else sum(weight.numpy().nbytes for weight in model.network.weights)
