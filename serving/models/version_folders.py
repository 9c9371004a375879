"""The folders of a model's versions.

    BASE_PATH/VERSION/saved_model.pb      VERSION is a non-negative int64, "00000123" included

Folders with other names are ignored.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from seqattn_tf.export.versions import EXTRA, SAVED_MODEL_FILES
from seqattn_tf.lite.runtime import FILE as LITE_FILE
from seqattn_tf.presets import LITE

LOG = logging.getLogger(__name__)
MAX_VERSION = 2**63 - 1
Versions = Callable[[Path], dict[int, Path] | None]


def saved_models(base_path: Path) -> dict[int, Path] | None:
    """Return the folders of all versions that contain a SavedModel or a LiteRT file of any model.

    Returns:
        The folders by version number; None if `base_path` is unreadable.
    """
    return _versions(base_path, lambda folder: _holds(folder, *SAVED_MODEL_FILES, LITE_FILE))


def lite_exports(base_path: Path) -> dict[int, Path] | None:
    """Return the LiteRT folders of all versions of an export, or that of a preset, which is version 1."""
    if _holds(base_path / LITE, LITE_FILE):
        return {1: base_path / LITE}
    found = _versions(base_path, lambda folder: _holds(folder / EXTRA / LITE, LITE_FILE))
    return None if found is None else {version: folder / EXTRA / LITE for version, folder in found.items()}


def _versions(base_path: Path, holds_model: Callable[[Path], bool]) -> dict[int, Path] | None:
    try:
        folders = sorted(child for child in base_path.iterdir() if child.is_dir())
    except OSError as error:
        LOG.warning("a model's folder could not be read: %s", error)
        return None
    versions: dict[int, Path] = {}
    for folder in folders:
        numeric = folder.name.isascii() and folder.name.isdigit() and int(folder.name) <= MAX_VERSION
        if numeric and holds_model(folder):
            versions.setdefault(int(folder.name), folder)
    return versions


def _holds(folder: Path, *files: str) -> bool:
    try:
        return any((folder / file).is_file() for file in files)
    except PermissionError:
        return True  # the attempt to load it then reports the error
