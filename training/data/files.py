"""Your own examples: a single table, or a folder with `train`, `dev` and `test`, plain, gzip or xz.

    commands.csv                                                  load(file, {"text": "command"}, "actions")
    train.tsv.xz  val.tsv.xz  test.tsv.xz                         load(folder, {"text": "0"}, "1"), or column names
    train.jsonl.gz  valid.jsonl.gz  test_2016.jsonl.gz            load(folder, {"text": "german"}, "english"), by key
    train.ja  train.en  dev.ja  dev.en  test.ja  test.en          load(folder, {"text": "ja"}, "en"), parallel text
    train-00000-of-00002.tsv  train-00001-of-00002.tsv            shards of one file
    part-*.tsv.gz                                                 a pattern: all matching files are training data

File names may contain more than that (`train18k.tsv`, `test_2016_flickr.de.gz`). A malformed line is skipped, with a
warning that names the file and the line. A file with too many malformed lines is an error (see `reading`).
"""

import dataclasses
import glob
import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from seqattn_tf.training.data.examples import DataWarning, Example, Splits, example_of, from_text
from seqattn_tf.training.data.finding import PARTS, check_folder, find_part, is_pattern, names_in, public_name
from seqattn_tf.training.data.reading import (
    TABLES,
    Faults,
    fault_of,
    iter_lines,
    iter_rows,
    read_rows,
    refuse_loss,
    split_name,
)
from seqattn_tf.training.data.sources import Source, split, split_sources

_FORMS = "train.TEXT with train.TARGET, or train.csv, .tsv or .jsonl, plain, .gz or .xz"


def load(
    data: str | Path | None,
    columns: Mapping[str, str],
    target: str,
    *,
    test: str = "test",
    split_column: str = "",
    stream: str = "never",
) -> Splits:
    """Load the examples of a table, of a folder, of all files of a pattern, or of TensorFlow Datasets for `tfds:NAME`.

    If `dev` or `test` is missing, it is held out of `train` by a hash of the inputs, and `origin` mentions that.

    Args:
        data: A file, a pattern such as `part-*.tsv.gz`, or a folder. Subfolders are not searched.
        columns: For each input, the name or number of its column, its key, or its language (the ending of a file name).
        target: The same for the target.
        test: A part of the name of the test files, to choose among several test sets.
        split_column: In a single file, the column that contains `train`, `dev` or `test` for each row.
        stream: Whether training examples stay on disk (see `split_sources`).
    """
    if split_column and (data is None or not Path(data).is_file()):
        raise ValueError(f"split_column: expected a single file to split. Received: --data {data}")
    if name := public_name(data):
        from seqattn_tf.training.data import tfds

        found = tfds.load(name, columns, target, stream=stream)
    elif split_column:
        if stream == "always":
            raise ValueError(f"stream: expected auto or never with split_column. Received: {stream!r}")
        found = _load_split_file(Path(str(data)), columns, target, split_column)
    else:
        found = split_sources(_sources(data, columns, target, test), stream)
    return dataclasses.replace(found, columns={**columns, "target": target})


def _sources(data: str | Path | None, columns: Mapping[str, str], target: str, test: str) -> dict[str, Source]:
    """Return a source for each part that exists."""
    if data is not None and Path(data).is_file():
        return {"train": _source([[Path(data)]], columns, target)}
    if is_pattern(data):
        paths = sorted(map(Path, glob.glob(str(data), recursive=True)))
        if not paths:
            raise ValueError(f"data: expected files that match the pattern. Received: none for {data}")
        return {"train": _source([[path] for path in paths], columns, target, f"{data} ({len(paths)} files)")}
    folder = check_folder(data)
    if not test:
        raise ValueError("test: expected a part of the name of the test files. Received: ''")
    groups = {part: find_part(folder, part, columns, target, test) for part in ("train", "dev", "test")}
    if not groups["train"]:
        raise ValueError(f"{folder}: expected {_FORMS}. Received: {names_in(folder) or 'no files'}")
    if not groups["test"] and test != "test":
        raise ValueError(
            f"test: expected a part of the name of a test file, one of {names_in(folder)}. Received: {test!r}"
        )
    return {part: _source(found, columns, target) for part, found in groups.items() if found}


def _source(groups: Sequence[Sequence[Path]], columns: Mapping[str, str], target: str, name: str = "") -> Source:
    """Return the examples of tables, or of pairs of files of parallel text, in sequence."""

    def read() -> Iterator[Example]:
        for paths in groups:
            yield from _iter_examples(paths[0], columns, target) if len(paths) == 1 else _iter_parallel(paths)

    for table in (paths[0] for paths in groups if len(paths) == 1):
        if split_name(table)[1] not in TABLES:
            raise ValueError(
                f"data: expected a folder, or a {', '.join(TABLES)} file, plain, .gz or .xz. Received: {table}"
            )
    first = " + ".join(path.name for path in groups[0])
    name = name or (first if len(groups) == 1 else f"{first} and {len(groups) - 1} more")
    asked = [*columns, *columns.values(), target]
    return Source.of_files(name, [path for paths in groups for path in paths], read, asked)


def _load_split_file(path: Path, columns: Mapping[str, str], target: str, split_column: str) -> Splits:
    _source([[path]], columns, target)  # raises an error if it is no table
    _refuse_unnamed(path, {**columns, "target": target})
    rows = read_rows(path, [*columns.values(), target, split_column])
    parts = _part_by(split_column, path.name, [(said, example_of(columns, cells)) for *cells, said in rows])
    found = split({part: examples for part, examples in parts.items() if examples}, dict.fromkeys(parts, path.name))
    return dataclasses.replace(found, origin=f"{found.origin}, split by {split_column}")


def _part_by(column: str, name: str, examples: Iterable[tuple[str, Example]]) -> dict[str, list[Example]]:
    """Group examples by the value of a column: `train`, `dev` or `test`, or a synonym."""
    words = {word: part for part, names in PARTS.items() for word in names}
    parts: dict[str, list[Example]] = {"train": [], "dev": [], "test": []}
    strange: dict[str, int] = {}
    for said, example in examples:
        if part := words.get(said.lower()):
            parts[part].append(example)
        else:
            strange[said] = strange.get(said, 0) + 1
    if strange:
        shown = ", ".join(f"{said!r:.30} in {count} rows" for said, count in list(strange.items())[:5])
        _warn(f"{name}: expected train, dev or test in {column!r}. Skipped: {shown}")
        lost, good = sum(strange.values()), sum(map(len, parts.values()))
        refuse_loss(name, lost, lost + good, "rows", [f"expected train, dev or test in {column!r}. Received: {shown}"])
    known = {example.key for example in parts["train"]}
    for part in ("dev", "test"):
        if seen := sum(example.key in known for example in parts[part]):
            _warn(f"{name}: {seen} of the {len(parts[part])} rows of {part} have inputs that also occur in train")
    return parts


def _warn(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=4)


def _refuse_unnamed(path: Path, columns: Mapping[str, str]) -> None:
    """Check that every input and the target has a column; the error shows the first line of the file."""
    for name, column in columns.items():
        if not column:
            first = (next(iter_lines(path, Faults(path.name))) or "")[:200]
            expected = f"expected a column of {path.name}, which starts with {first!r}"
            raise ValueError(f"{name}: {expected}. Received: none; use --set {name}_column=COLUMN")


def _iter_examples(path: Path, columns: Mapping[str, str], target: str) -> Iterator[Example]:
    """Yield the examples of a table."""
    _refuse_unnamed(path, {**columns, "target": target})
    try:
        for cells in iter_rows(path, [*columns.values(), target]):
            yield example_of(columns, cells)
    except ValueError as error:
        asked = " ".join(f"--set {name}_column={column}" for name, column in {**columns, "target": target}.items())
        raise ValueError(f"{error} ({asked})") from None


def _iter_parallel(paths: Sequence[Path]) -> Iterator[Example]:
    """Yield the pairs of corresponding lines in two files."""
    faults = [Faults(path.name) for path in paths]
    sides = [iter_lines(path, fault) for path, fault in zip(paths, faults, strict=True)]
    ended, good, number = object(), 0, 0
    for number, cells in enumerate(itertools.zip_longest(*sides, fillvalue=ended), 1):
        if ended in cells:
            more = [
                number - 1 if cell is ended else number + sum(1 for _ in side)
                for cell, side in zip(cells, sides, strict=True)
            ]
            counts = " and ".join(f"{path.name} with {count}" for path, count in zip(paths, more, strict=True))
            raise ValueError(f"{paths[0].parent}: expected equal numbers of lines. Received: {counts}")
        bad = [fault_of(cell) if cell is not None else None for cell in cells]
        for fault, expected, cell in zip(faults, bad, cells, strict=True):
            if expected:
                fault.add(number, expected, cell)
        whole = [cell.strip() for cell in cells if isinstance(cell, str)]
        if len(whole) == len(cells) and not any(bad):
            good += 1
            yield from_text(*whole)
    if not good:
        raise ValueError(f"{paths[0]}: expected at least one valid line. Received: {number} malformed ones")
    for fault in faults:
        fault.close(number - fault.lost)
    refuse_loss(" + ".join(path.name for path in paths), number - good, number, "pairs")
