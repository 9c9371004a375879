"""The folders `models/NAME/VERSION/` that exports go to."""

from pathlib import Path


def versions(folder: Path) -> list[int]:
    """The versions a model folder holds, in order."""
    return list(version_folders(folder))


def version_folders(folder: Path) -> dict[int, Path]:
    """The folders of a model's versions, in their order; TF Serving takes `001` for one too."""
    named = [child for child in Path(folder).glob("*") if child.name.isascii() and child.name.isdecimal()]
    return {int(child.name): child for child in sorted(named, key=lambda child: int(child.name)) if child.is_dir()}
