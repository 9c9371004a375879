"""The folders `models/NAME/VERSION/` of exported versions."""

from pathlib import Path

EXTRA = "assets.extra"  # the folder in a version with everything that is not part of the SavedModel
SAVED_MODEL_FILES = ("saved_model.pb", "saved_model.pbtxt")  # a SavedModel has one of them


def is_saved_model(folder: Path) -> bool:
    """Return whether a folder contains the file of a SavedModel."""
    return any((folder / file).is_file() for file in SAVED_MODEL_FILES)


def versions(folder: Path) -> list[int]:
    """Return the version numbers in a model folder, in order."""
    return list(version_folders(folder))


def version_folders(folder: Path) -> dict[int, Path]:
    """Return the folders of a model's versions, in order; like TF Serving, accept names such as `001`."""
    named = [child for child in Path(folder).glob("*") if child.name.isascii() and child.name.isdecimal()]
    return {int(child.name): child for child in sorted(named, key=lambda child: int(child.name)) if child.is_dir()}
