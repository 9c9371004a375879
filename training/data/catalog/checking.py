"""Comparison of a copy of a data set with the reference, and conversion of the original distribution."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from seqattn_tf.core.atomic_io import write_atomically
from seqattn_tf.core.compressed import bare, open_file
from seqattn_tf.training.data.catalog.base import Dataset, Expected
from seqattn_tf.training.data.catalog.originals import Originals, complete, members

_CHUNK = 2**20
_MOST = 4 * 2**30  # bytes that a conversion may write
_NAME = re.compile(r"\w[\w.-]*")
EQUAL, DIFFERS, MISSING = "equal", "differs", "missing"


class Finding(NamedTuple):
    """How a file of a copy compares with the reference.

    Args:
        name: The file.
        state: `equal`, `differs` or `missing`.
        detail: What was found, in words.
        sha256: The checksum of the copy; "" if it was not computed to its end.
    """

    name: str
    state: str
    detail: str
    sha256: str = ""


def verify(dataset: Dataset, folder: str | Path) -> list[Finding]:
    """Compare the files in a folder with the reference, whether they are plain, `.gz` or `.xz`."""
    groups = _groups(dataset, Path(folder))
    return [
        _compared_group(name, expected, groups[name])
        if expected.pattern
        else _compared(dataset, Path(folder), name, expected)
        for name, expected in dataset.files.items()
    ]


def is_prepared(dataset: Dataset, folder: str | Path) -> bool:
    """Return whether a folder has every file of a data set in the form that the recipes read, by their names."""
    paths = _readable(dataset, Path(folder))
    return all(
        any(_is_one(path, name, expected) or (expected.pattern and _is_read(path, dataset)) for path in paths)
        for name, expected in dataset.files.items()
    )


def convert(dataset: Dataset, originals: Originals, destination: str | Path) -> None:
    """Write the files of a data set to a new folder, from its original distribution."""
    destination = Path(destination)
    if destination.exists():
        raise ValueError(f"output: expected a folder that does not exist yet. Received: {destination}")
    if dataset.convert is None:
        raise ValueError(f"{dataset.name}: expected a data set with a converter. Received: none; see docs/datasets.md")
    if missing := originals.missing(dataset.originals):
        raise ValueError(f"{originals.folder}: expected {', '.join(missing)}. Received: {_shown(originals.names)}")
    total = 0
    with write_atomically(destination) as aside:
        aside.mkdir()
        for name, data in _converted(dataset, originals):
            if not _NAME.fullmatch(name):
                raise ValueError(f"{originals.folder}: expected a plain file name. Received: {name!r}")
            total += len(data)
            if total > _MOST:
                raise ValueError(f"{originals.folder}: expected at most {_MOST} bytes of data. Received: more")
            (aside / name).write_bytes(data)


def _converted(dataset: Dataset, originals: Originals) -> Iterator[tuple[str, bytes]]:
    try:
        yield from dataset.convert(originals) if dataset.convert else ()
    except UnicodeDecodeError as error:
        raise ValueError(f"{originals.folder}: expected files in UTF-8. Received: {error}") from None


def unrecognized(dataset: Dataset, folder: str | Path, names: list[str]) -> ValueError:
    """Return the error for a folder that has neither the expected files nor the original distribution."""
    wanted = ", ".join(f"{file.count} files {name}" if file.pattern else name for name, file in dataset.files.items())
    other = f", or the original distribution ({', '.join(dataset.originals)})" if dataset.originals else ""
    return ValueError(f"{folder}: expected {wanted} (plain, .gz or .xz){other}. Received: {_shown(names)}")


def version_of(dataset: Dataset, findings: list[Finding]) -> str:
    """Return the name of the other known version to which the files belong, or an empty string."""
    found = {
        name
        for beginning, name in dataset.versions.items()
        for finding in findings
        if finding.state == DIFFERS and finding.sha256.startswith(beginning)
    }
    return found.pop() if len(found) == 1 else ""


def _shown(names: list[str]) -> str:
    return ", ".join([*names[:5], *(["..."] if len(names) > 5 else [])]) or "no files"


def _readable(dataset: Dataset, folder: Path) -> list[Path]:
    """Return the files in a folder, and in those of its subfolders that the recipes read."""
    places = [folder, *(folder / inner for inner in dataset.folders)]
    return [path for place in places if place.is_dir() for path in sorted(place.iterdir()) if path.is_file()]


def _is_one(path: Path, name: str, expected: Expected) -> bool:
    """Return whether a file is an expected one, or one of an expected group, by its name."""
    found = bare(path).name
    return bool(re.fullmatch(expected.pattern, found)) if expected.pattern else found == name


def _is_read(path: Path, dataset: Dataset) -> bool:
    """Return whether a file is an archive that the recipes read."""
    return bool(dataset.archives and re.fullmatch(dataset.archives, path.name))


def _compared(dataset: Dataset, folder: Path, name: str, expected: Expected) -> Finding:
    path = next((path for path in _readable(dataset, folder) if _is_one(path, name, expected)), None)
    if path is None:
        return Finding(name, MISSING, f"expected {expected.size} bytes")
    with open_file(path) as file:
        size, checksum = _digest(file, expected.size)
    if checksum == expected.sha256:
        return Finding(name, EQUAL, f"{size} bytes, {path.name}", checksum)
    if not checksum:
        return Finding(name, DIFFERS, f"more than {size} bytes, expected {expected.size}, {path.name}")
    other = f"expected {expected.size}" if size != expected.size else f"SHA-256 {checksum[:16]}..."
    return Finding(name, DIFFERS, f"{size} bytes, {other}, {path.name}", checksum)


def _digest(file: IO[bytes], most: int) -> tuple[int, str]:
    """Return the size and checksum of an open file; no checksum if it is much larger than expected."""
    size, sha256 = 0, hashlib.sha256()
    while chunk := file.read(_CHUNK):
        size += len(chunk)
        if size > 2 * most + _CHUNK:
            return size, ""
        sha256.update(chunk)
    return size, sha256.hexdigest()


def _groups(dataset: Dataset, folder: Path) -> dict[str, dict[str, tuple[int, str]]]:
    """Return the size and checksum of each file of each group, in the folder or in its archives."""
    groups = {name: expected for name, expected in dataset.files.items() if expected.pattern}
    found: dict[str, dict[str, tuple[int, str]]] = {name: {} for name in groups}
    for path in _readable(dataset, folder) if groups else ():
        for name, expected in groups.items():
            if _is_one(path, name, expected):
                with open_file(path) as file:
                    found[name][bare(path).name] = _digest(file, expected.size)
        for member, file in members(path) if _is_read(path, dataset) else ():
            for name, expected in groups.items():
                if re.fullmatch(expected.pattern, member):
                    with complete(path):
                        found[name][PurePosixPath(member).name] = _digest(file, expected.size)
    return found


def _compared_group(name: str, expected: Expected, found: Mapping[str, tuple[int, str]]) -> Finding:
    if not found:
        return Finding(name, MISSING, f"expected {expected.count} files")
    listed = "".join(f"{checksum}  {one}\n" for one, (_, checksum) in sorted(found.items()))
    checksum, size = hashlib.sha256(listed.encode()).hexdigest(), sum(size for size, _ in found.values())
    if checksum == expected.sha256:
        return Finding(name, EQUAL, f"{len(found)} files, {size} bytes", checksum)
    same = (len(found), size) == (expected.count, expected.size)
    other = f"SHA-256 of their list {checksum[:16]}..." if same else f"expected {expected.count} and {expected.size}"
    return Finding(name, DIFFERS, f"{len(found)} files, {size} bytes, {other}", checksum)
