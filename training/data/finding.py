"""Functions that find data files: by their names in a folder, by a pattern, or as a public dataset."""

import glob
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from seqattn_tf.training.data.reading import TABLES, split_name

PARTS = {
    "train": ("train", "training"),
    "dev": ("dev", "val", "valid", "validation", "development"),
    "test": ("test",),
}
_SHARD = re.compile(r"-(\d+)-of-(\d+)$")


def place(data: str | Path) -> str:
    """Return an absolute path, valid in any working directory, or the name of a public dataset."""
    return str(data) if public_name(data) else str(Path(data).resolve())


def public_name(data: str | Path | None) -> str | None:
    """Return the name of a dataset in TensorFlow Datasets, if the data are `tfds:NAME`.

    >>> public_name("tfds:wmt14_translate/de-en"), public_name("my/folder")
    ('wmt14_translate/de-en', None)
    """
    return str(data).removeprefix("tfds:") if str(data).startswith("tfds:") else None


def is_pattern(data: str | Path | None) -> bool:
    """Return whether this is a pattern for several files.

    >>> is_pattern("corpus/part-*.tsv"), is_pattern("corpus"), is_pattern("tfds:wmt14_translate/de-en")
    (True, False, False)
    """
    return data is not None and glob.has_magic(str(data)) and not Path(data).exists()


def is_there(data: str) -> bool:
    """Return whether the data exist, as far as this can be checked without downloading them."""
    return (
        bool(public_name(data)) or Path(data).exists() or (is_pattern(data) and bool(glob.glob(data, recursive=True)))
    )


def check_folder(folder: str | Path | None, wanted: str = "train, dev and test files") -> Path:
    """Return the folder if it exists; `wanted` describes its expected content for the error message."""
    if folder is None:
        raise ValueError(f"data: expected a folder with {wanted} (--data FOLDER). Received: none")
    if not Path(folder).is_dir():
        what = "a file" if Path(folder).exists() else "a path that does not exist"
        raise ValueError(f"data: expected a folder with {wanted}. Received: {folder}, {what}")
    return Path(folder)


def find_text(folder: str | Path | None, wanted: str) -> Path:
    """Return the only `.txt` file of a folder; `wanted` describes its expected content for the error message."""
    folder = check_folder(folder, wanted)
    found = [path for path in sorted(folder.iterdir()) if path.is_file() and split_name(path)[1] == "txt"]
    if len(found) != 1:
        raise ValueError(f"{folder}: expected one .txt file, plain, .gz or .xz. Received: {names_in(folder) or 'none'}")
    return found[0]


def find(folder: Path, part: str, suffix: str, test: str = "test") -> dict[str, Path]:
    """Return the files of a part with a suffix (before `.gz` or `.xz`), by the rest of their name.

    A file whose name is exactly the name of the part takes precedence: beside `test.tsv`, `test_2016.tsv` is another
    set.
    """
    found: dict[str, Path] = {}
    for path in _belonging(folder, part, test):
        stem, last = split_name(path)
        if last == suffix and stem in found:
            raise ValueError(f"{folder}: expected either {found[stem].name} or {path.name}. Received: both")
        if last == suffix:
            found[stem] = path
    words = (test.lower(),) if part == "test" else PARTS[part]
    return {stem: path for stem, path in found.items() if stem.lower() in words} or found


def _belonging(folder: Path, part: str, test: str) -> list[Path]:
    """Return the files with the name of the part as a word in theirs: `newstest14` contains `newstest`, not `test`."""
    words = "|".join(map(re.escape, (test.lower(),) if part == "test" else PARTS[part]))
    word = re.compile(rf"(?<![a-z])({words})(?![a-z])")
    return [path for path in sorted(folder.iterdir()) if path.is_file() and word.search(split_name(path)[0].lower())]


def find_files(folder: Path, suffixes: Sequence[str], test: str = "test") -> dict[str, Path]:
    """Return one file for each part that exists, with the first of the suffixes that matches."""
    found = {part: [find_one(folder, part, [suffix], test) for suffix in suffixes] for part in PARTS}
    return {part: next(filter(None, paths)) for part, paths in found.items() if any(paths)}


def find_one(folder: Path, part: str, suffixes: Sequence[str], test: str = "test") -> Path | None:
    """Return the only file of a part with any of the suffixes, or None if there is none."""
    found = [path for suffix in suffixes for path in find(folder, part, suffix, test).values()]
    return _only(folder, part, [[path] for path in found])[0] if found else None


def find_part(folder: Path, part: str, columns: Mapping[str, str], target: str, test: str) -> list[list[Path]]:
    """Return one table, the two files of parallel text, or all shards of one; an empty list if the part is missing."""
    tables = [[path] for suffix in TABLES for path in find(folder, part, suffix, test).values()]
    if len(columns) != 1:  # parallel text has one input
        return _one_set(folder, part, tables) if tables else []
    [(given, source)] = columns.items()
    sides = [find(folder, part, language, test) for language in (source, target)]
    found = [*tables, *([side[stem] for side in sides] for stem in sides[0] if stem in sides[1])]
    if found:
        return _one_set(folder, part, found)
    there = sorted({split_name(path)[1] for path in _belonging(folder, part, test)} - {""})
    for name, language, side in zip((given, "target"), (source, target), sides, strict=True):
        if there and not side and (part == "train" or any(sides)):
            raise ValueError(f"{name}: expected a language of the {part} files, one of {there}. Received: {language!r}")
    if any(sides):
        names = [path.name for side in sides for path in side.values()]
        raise ValueError(f"{folder}: expected {part} files of the same name in both languages. Received: {names}")
    return []


def _only(folder: Path, part: str, found: list[list[Path]]) -> list[Path]:
    if len(found) > 1:
        names = [" + ".join(path.name for path in paths) for paths in found]
        hint = "; select one by name with `test`" if part == "test" else ""
        raise ValueError(f"{folder}: expected one {part} set{hint}. Received: {names}")
    return found[0]


def _one_set(folder: Path, part: str, found: list[list[Path]]) -> list[list[Path]]:
    """Return the files of a part: one group, or all its shards in order."""
    numbers = [_SHARD.search(split_name(paths[0])[0]) for paths in found]
    sets = {
        (match and _SHARD.sub("", match.string), split_name(paths[0])[1])
        for match, paths in zip(numbers, found, strict=True)
    }
    if len(sets) > 1 or not all(numbers):
        return [_only(folder, part, found)]
    shards = {int(match[1]): paths for match, paths in zip(numbers, found, strict=True) if match}
    total = {int(match[2]) for match in numbers if match}
    if len(total) > 1 or sorted(shards) != list(range(max(total))):
        names = [paths[0].name for _, paths in sorted(shards.items())]
        raise ValueError(f"{folder}: expected all of {max(total)} {part} shards. Received: {len(names)}, {names[:5]}")
    return [paths for _, paths in sorted(shards.items())]


def names_in(folder: Path) -> list[str]:
    """Return the names of all entries of a folder."""
    return sorted(path.name for path in folder.iterdir())
