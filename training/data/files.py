"""Examples of one's own: a single table, or a folder with `train`, `dev` and `test`, plain, gzip or xz.

    commands.csv                                                  load(file, {"text": "command"}, "actions")
    train.tsv.xz  val.tsv.xz  test.tsv.xz                         load(folder, {"text": "0"}, "1"), or names
    train.jsonl.gz  valid.jsonl.gz  test_2016.jsonl.gz            load(folder, {"text": "german"}, "english"), its keys
    train.ja  train.en  dev.ja  dev.en  test.ja  test.en          load(folder, {"text": "ja"}, "en"), parallel text

Names of files may carry more (`train18k.tsv`, `test_2016_flickr.de.gz`). A malformed line is reported with file and
number, and passed over.
"""

import dataclasses
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from seqattn_tf.training.data.examples import (
    TEST_SHARE,
    DataWarning,
    Example,
    Splits,
    from_text,
    hold_out,
    hold_out_dev,
)
from seqattn_tf.training.data.reading import TABLES, Faults, fault_of, read_lines, read_rows, split_name

PARTS = {
    "train": ("train", "training"),
    "dev": ("dev", "val", "valid", "validation", "development"),
    "test": ("test",),
}
TEST_START = 0.5  # of the hashes: away from the development split, which begins at 0
_FORMS = "train.TEXT with train.TARGET, or train.csv, .tsv or .jsonl, plain, .gz or .xz"


def load(
    data: str | Path | None, columns: Mapping[str, str], target: str, *, test: str = "test", split_column: str = ""
) -> Splits:
    """The examples of a table, of a folder, or of TensorFlow Datasets for `tfds:NAME`.

    What is not given, of `dev` and `test`, is held out of `train` by a hash of the inputs, and `origin` says so.

    Args:
        data: a file, or a folder whose subfolders are not looked into.
        columns: for each input, the name or number of its column, its key, or its language (the ending of a file).
        target: the same of what comes out.
        test: what the name of the test files holds, where there are several test sets.
        split_column: of a single file, the column that says `train`, `dev` or `test` of each row.
    """
    if name := public_name(data):
        from seqattn_tf.training.data import tfds

        found = tfds.load(name, columns, target)
    elif data is not None and Path(data).is_file():
        found = _load_file(Path(data), columns, target, split_column)
    elif split_column:
        raise ValueError(f"split_column: expected a single file, which it splits. Received: --data {data}")
    else:
        found = _load_folder(check_folder(data), columns, target, test)
    return dataclasses.replace(found, columns={**columns, "target": target})


def _load_file(path: Path, columns: Mapping[str, str], target: str, split_column: str) -> Splits:
    if split_name(path)[1] not in TABLES:
        raise ValueError(f"data: expected a folder, or a {', '.join(TABLES)} file, plain, .gz or .xz. Received: {path}")
    if not split_column:
        return split({"train": read_examples(path, columns, target)}, {"train": path.name})
    _refuse_unnamed(path, {**columns, "target": target})
    rows = read_rows(path, [*columns.values(), target, split_column])
    parts = _part_by(split_column, path.name, [(said, example_of(columns, cells)) for *cells, said in rows])
    found = split({part: examples for part, examples in parts.items() if examples}, dict.fromkeys(parts, path.name))
    return dataclasses.replace(found, origin=f"{found.origin}, split by {split_column}")


def _part_by(column: str, name: str, examples: Iterable[tuple[str, Example]]) -> dict[str, list[Example]]:
    """Examples by what a column says of each: `train`, `dev` or `test`, or another word for it."""
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
        _warn(f"{name}: expected train, dev or test in {column!r}. Passed over: {shown}")
    known = {example.key for example in parts["train"]}
    for part in ("dev", "test"):
        if seen := sum(example.key in known for example in parts[part]):
            _warn(f"{name}: {seen} of the {len(parts[part])} rows of {part} have inputs that are in train, too")
    return parts


def _warn(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=4)


def _refuse_unnamed(path: Path, columns: Mapping[str, str]) -> None:
    """Every input and the target need a column; what there is to choose from is said."""
    for name, column in columns.items():
        if not column:
            first = (read_lines(path, Faults(path.name))[0] or "")[:200]
            expected = f"expected a column of {path.name} (--set {name}=COLUMN), which begins with {first!r}"
            raise ValueError(f"{name}: {expected}. Received: none")


def _load_folder(folder: Path, columns: Mapping[str, str], target: str, test: str) -> Splits:
    if not test:
        raise ValueError("test: expected what the name of the test files holds. Received: ''")
    files = {part: _part(folder, part, columns, target, test) for part in ("train", "dev", "test")}
    if not files["train"]:
        raise ValueError(f"{folder}: expected {_FORMS}. Received: {_names(folder) or 'no files'}")
    if not files["test"] and test != "test":
        raise ValueError(f"test: expected what the name of a test file holds, of {_names(folder)}. Received: {test!r}")
    examples = {
        part: read_examples(paths[0], columns, target) if len(paths) == 1 else read_parallel(paths)
        for part, paths in files.items()
        if paths
    }
    return split(examples, {part: " + ".join(path.name for path in paths) for part, paths in files.items()})


def split(examples: Mapping[str, list[Example]], names: Mapping[str, str]) -> Splits:
    """Splits of what there is: `train`, and `dev` and `test` held out of it where they are not given.

    Args:
        examples: of `train` at least.
        names: where each part comes from; said in `origin`.
    """
    held = [part for part in ("test", "dev") if part not in examples]
    parts = {"train": [], **examples}
    if "test" in held:
        parts["train"], parts["test"] = hold_out(parts["train"], TEST_SHARE, start=TEST_START)
    if "dev" in held:
        parts["train"], parts["dev"] = hold_out_dev(parts["train"])
    if not (parts["train"] and parts["dev"] and parts["test"]):
        counts = f"{len(parts['train'])} to train, {len(parts['dev'])} for development, {len(parts['test'])} to test"
        raise ValueError(f"{names['train']}: expected pairs for each split. Received: {counts}")
    origin = ", ".join(dict.fromkeys(names[part] for part in ("train", "dev", "test") if part not in held))
    if held:
        origin += f" ({' and '.join(reversed(held))} held out of train by hash of the source)"
    return Splits(parts["train"], parts["dev"], parts["test"], origin)


def example_of(columns: Mapping[str, str], cells: Sequence[str]) -> Example:
    """The example of a row, whose last cell is the target; the others together are its key."""
    *given, target = cells
    return Example("\t".join(given), dict(zip(columns, given, strict=True)), target)


def read_examples(path: Path, columns: Mapping[str, str], target: str) -> list[Example]:
    """The examples of a table."""
    _refuse_unnamed(path, {**columns, "target": target})
    try:
        return [example_of(columns, cells) for cells in read_rows(path, [*columns.values(), target])]
    except ValueError as error:
        asked = " ".join(f"--set {name}={column}" for name, column in {**columns, "target": target}.items())
        raise ValueError(f"{error} ({asked})") from None


def read_parallel(paths: Sequence[Path]) -> list[Example]:
    """The pairs of two files whose lines belong together."""
    faults = [Faults(path.name) for path in paths]
    sides = [read_lines(path, fault) for path, fault in zip(paths, faults, strict=True)]
    if len(sides[0]) != len(sides[1]):
        counts = " and ".join(f"{path.name} with {len(side)}" for path, side in zip(paths, sides, strict=True))
        raise ValueError(f"{paths[0].parent}: expected the same number of lines. Received: {counts}")
    pairs = []
    for number, cells in enumerate(zip(*sides, strict=True), 1):
        bad = [fault_of(cell) if cell is not None else None for cell in cells]
        for fault, expected, cell in zip(faults, bad, cells, strict=True):
            if expected:
                fault.add(number, expected, cell)
        whole = [cell.strip() for cell in cells if cell is not None]
        if len(whole) == len(cells) and not any(bad):
            pairs.append(from_text(*whole))
    for fault in faults:
        fault.close()
    if not pairs:
        raise ValueError(f"{paths[0]}: expected at least one good line. Received: {len(sides[0])} malformed ones")
    return pairs


def place(data: str | Path) -> str:
    """Where data are, from wherever one looks."""
    return str(data) if public_name(data) else str(Path(data).resolve())


def public_name(data: str | Path | None) -> str | None:
    """The name of a set of TensorFlow Datasets, where `tfds:NAME` asks for one.

    >>> public_name("tfds:wmt14_translate/de-en"), public_name("my/folder")
    ('wmt14_translate/de-en', None)
    """
    return str(data).removeprefix("tfds:") if str(data).startswith("tfds:") else None


def check_folder(folder: str | Path | None, wanted: str = "train, dev and test files") -> Path:
    """The folder, if it is one; `wanted` says what should be in it."""
    if folder is None:
        raise ValueError(f"data: expected a folder with {wanted} (--data FOLDER). Received: none")
    if not Path(folder).is_dir():
        what = "a file" if Path(folder).exists() else "nothing there"
        raise ValueError(f"data: expected a folder with {wanted}. Received: {folder}, {what}")
    return Path(folder)


def find_text(folder: str | Path | None, wanted: str) -> Path:
    """The one `.txt` file of a folder; `wanted` says what it should hold."""
    folder = check_folder(folder, wanted)
    found = [path for path in sorted(folder.iterdir()) if path.is_file() and split_name(path)[1] == "txt"]
    if len(found) != 1:
        raise ValueError(f"{folder}: expected one .txt file, plain, .gz or .xz. Received: {_names(folder) or 'none'}")
    return found[0]


# finding


def find(folder: Path, part: str, suffix: str, test: str = "test") -> dict[str, Path]:
    """The files of a part with a suffix (before `.gz` or `.xz`), by the rest of their name.

    A part's name stands for itself where nothing is added to it: beside `test.tsv`, `test_2016.tsv` is another set.
    """
    found: dict[str, Path] = {}
    for path in _belonging(folder, part, test):
        stem, last = split_name(path)
        if last == suffix and stem in found:
            raise ValueError(f"{folder}: expected one of {found[stem].name} and {path.name}. Received: both")
        if last == suffix:
            found[stem] = path
    words = (test.lower(),) if part == "test" else PARTS[part]
    return {stem: path for stem, path in found.items() if stem.lower() in words} or found


def _belonging(folder: Path, part: str, test: str) -> list[Path]:
    """The files with the part's word in their name: `newstest14` holds `newstest`, not `test`."""
    words = "|".join(map(re.escape, (test.lower(),) if part == "test" else PARTS[part]))
    word = re.compile(rf"(?<![a-z])({words})(?![a-z])")
    return [path for path in sorted(folder.iterdir()) if path.is_file() and word.search(split_name(path)[0].lower())]


def find_files(folder: Path, suffixes: Sequence[str], test: str = "test") -> dict[str, Path]:
    """The one file of each part that is there, with the first of the suffixes that one has."""
    found = {part: [find_one(folder, part, [suffix], test) for suffix in suffixes] for part in PARTS}
    return {part: next(filter(None, paths)) for part, paths in found.items() if any(paths)}


def find_one(folder: Path, part: str, suffixes: Sequence[str], test: str = "test") -> Path | None:
    """The one file of a part with any of the suffixes; None where there is none."""
    found = [path for suffix in suffixes for path in find(folder, part, suffix, test).values()]
    return _only(folder, part, [[path] for path in found])[0] if found else None


def _part(folder: Path, part: str, columns: Mapping[str, str], target: str, test: str) -> list[Path]:
    """One table, or the two files of parallel text; none where the part is not there."""
    tables = [[path] for suffix in TABLES for path in find(folder, part, suffix, test).values()]
    if len(columns) != 1:  # parallel text has one input
        return _only(folder, part, tables) if tables else []
    [(given, source)] = columns.items()
    sides = [find(folder, part, language, test) for language in (source, target)]
    found = [*tables, *([side[stem] for side in sides] for stem in sides[0] if stem in sides[1])]
    if found:
        return _only(folder, part, found)
    there = sorted({split_name(path)[1] for path in _belonging(folder, part, test)} - {""})
    for name, language, side in zip((given, "target"), (source, target), sides, strict=True):
        if there and not side and (part == "train" or any(sides)):
            raise ValueError(f"{name}: expected a language of the {part} files, one of {there}. Received: {language!r}")
    if any(sides):
        names = [path.name for side in sides for path in side.values()]
        raise ValueError(f"{folder}: expected {part} files of one name in both languages. Received: {names}")
    return []


def _only(folder: Path, part: str, found: list[list[Path]]) -> list[Path]:
    if len(found) > 1:
        names = [" + ".join(path.name for path in paths) for paths in found]
        hint = "; `test` picks one by its name" if part == "test" else ""
        raise ValueError(f"{folder}: expected one {part} set{hint}. Received: {names}")
    return found[0]


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
