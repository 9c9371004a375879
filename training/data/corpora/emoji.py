"""Emoji with their names, from a folder with `emoji*.npz` (`x [pictures, y, x, 3]`) and `names.json`.

The names are in the order of the pictures, in several languages. All skin tones of an emoji are in the same split.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seqattn_tf.training.data.examples import Example, Splits, share
from seqattn_tf.training.data.finding import check_folder
from seqattn_tf.training.data.reading import read_text
from seqattn_tf.training.data.stored import Pixels

_PARTS = {"dev": (0.0, 0.05), "test": (0.05, 0.15), "train": (0.15, 1.0)}  # ranges of hashes, without the skin tone
_WANTED = "emoji*.npz and names.json"


def _files(folder: Path) -> tuple[Path, Path] | None:
    tables, names = sorted(folder.glob("emoji*.npz")), sorted(folder.glob("names.json*"))
    return (tables[0], names[0]) if tables and names else None


def is_emoji(data: str | Path) -> bool:
    """Return whether a folder contains pictures of emoji and their names."""
    return Path(data).is_dir() and _files(Path(data)) is not None


def load(folder: str | Path, language: str = "en") -> Splits:
    """Load the pictures with their names in one language."""
    folder = check_folder(folder, _WANTED)
    if (found := _files(folder)) is None:
        raise ValueError(f"{folder}: expected {_WANTED}. Received: {sorted(path.name for path in folder.iterdir())}")
    table, names = _pictures(found[0]), _names(found[1], language)
    if len(table) != len(names):
        raise ValueError(f"{folder}: expected a name for each picture. Received: {len(names)} names, {len(table)}")
    examples = [
        (share(entry["base"]), Example(entry["code"], {"image": Pixels(table, number)}, entry[language].strip()))
        for number, entry in enumerate(names)
    ]
    parts = {
        part: [example for at, example in examples if low <= at < high and example.target]
        for part, (low, high) in _PARTS.items()
    }
    if not all(parts.values()):
        counts = {part: len(listed) for part, listed in parts.items()}
        raise ValueError(f"{folder}: expected emoji in each split. Received: {counts}")
    return Splits(parts["train"], parts["dev"], parts["test"], f"emoji ({language})")


def _pictures(path: Path) -> np.ndarray:
    try:
        with np.load(path) as stored:
            table = stored["x"]
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path}: expected an array of pictures named x. Received: {error}") from None
    if table.dtype != np.uint8 or table.ndim != 4 or table.shape[-1] != 3:
        raise ValueError(
            f"{path}: expected x [pictures, height, width, 3] of uint8. Received: {table.dtype} {table.shape}"
        )
    return table


def _names(path: Path, language: str) -> Sequence[Mapping[str, Any]]:
    try:
        names = json.loads(read_text(path))
        wanted = ("code", "base", language)
        lacking = [name for entry in names for name in wanted if not isinstance(entry.get(name), str)]
    except (ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"{path}: expected a list of names. Received: {error}") from None
    if lacking:
        known = sorted(name for name, value in names[0].items() if isinstance(value, str))
        raise ValueError(f"{path}: expected {lacking[0]!r} for every emoji. Received: {known}")
    return names
