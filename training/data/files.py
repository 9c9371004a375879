"""The file source: a folder with `train`, `dev` and `test`, as parallel text, TSV or JSONL, plain, gzip or xz.

    train.ja  train.en  dev.ja  dev.en  test.ja  test.en          load(folder, "ja", "en")
    train.tsv.xz  val.tsv.xz  test.tsv.xz                         load(folder, "0", "1"), or names in the first line
    train.jsonl.gz  valid.jsonl.gz  test_2016.jsonl.gz            load(folder, "german", "english"), its keys

Names may carry more (`train18k.tsv`, `test_2016_flickr.de.gz`). Lines end in a line feed, or a carriage return and a
line feed, and nowhere else. A malformed line is reported with file and number, and passed over.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from seqattn_tf.training.data.examples import TEST_SHARE, Example, Splits, hold_out, hold_out_dev
from seqattn_tf.training.data.reading import read_pairs, read_rows, read_text, split_name

__all__ = ["check_folder", "find", "find_one", "find_text", "load", "public_name", "read_rows", "read_text", "split"]

PARTS = {"train": ("train", "training"), "dev": ("dev", "val", "valid", "validation", "development")}
TEST_START = 0.5  # of the hashes: away from the development split, which begins at 0
_FORMS = "train.SOURCE with train.TARGET, train.tsv or train.jsonl, plain, .gz or .xz"


def load(folder: str | Path | None, source: str, target: str, *, test: str = "test") -> Splits:
    """The pairs of a folder, or of TensorFlow Datasets for `tfds:NAME`.

    Where there is no `dev` or no `test`, some of `train` is held out by a hash of the source, and `origin` says so.

    Args:
        folder: where the files are; subfolders are not looked into.
        source: language (the files' ending), column number, column name or key of what goes in.
        target: the same of what comes out.
        test: what the name of the test files holds, where there are several test sets.
    """
    if name := public_name(folder):
        from seqattn_tf.training.data import tfds

        return tfds.load(name, source, target)
    folder = check_folder(folder)
    if not test:
        raise ValueError("test: expected what the name of the test files holds. Received: ''")
    files = {part: _part(folder, part, source, target, test) for part in ("train", "dev", "test")}
    if not files["train"]:
        raise ValueError(f"{folder}: expected {_FORMS}. Received: {_names(folder) or 'no files'}")
    if not files["test"] and test != "test":
        raise ValueError(f"test: expected what the name of a test file holds, of {_names(folder)}. Received: {test!r}")
    pairs = {part: read_pairs(paths, source, target) for part, paths in files.items() if paths}
    return split(pairs, {part: " + ".join(path.name for path in paths) for part, paths in files.items()})


def split(pairs: dict[str, list[Example]], names: dict[str, str]) -> Splits:
    """Splits of what there is: `train`, and `dev` and `test` held out of it where they are not given.

    Args:
        pairs: of `train` at least.
        names: where each part comes from; said in `origin`.
    """
    held = [part for part in ("test", "dev") if part not in pairs]
    parts = dict(pairs)
    if "test" in held:
        parts["train"], parts["test"] = hold_out(parts["train"], TEST_SHARE, start=TEST_START)
    if "dev" in held:
        parts["train"], parts["dev"] = hold_out_dev(parts["train"])
    if not (parts["train"] and parts["dev"] and parts["test"]):
        counts = f"{len(parts['train'])} to train, {len(parts['dev'])} for development, {len(parts['test'])} to test"
        raise ValueError(f"{names['train']}: expected pairs for each split. Received: {counts}")
    origin = ", ".join(names[part] for part in ("train", "dev", "test") if part not in held)
    if held:
        origin += f" ({' and '.join(reversed(held))} held out of train by hash of the source)"
    return Splits(parts["train"], parts["dev"], parts["test"], origin)


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
        raise ValueError(f"data: expected a folder with {wanted}. Received: {folder}")
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


def find_one(folder: Path, part: str, suffixes: Sequence[str], test: str = "test") -> Path | None:
    """The one file of a part with any of the suffixes; None where there is none."""
    found = [path for suffix in suffixes for path in find(folder, part, suffix, test).values()]
    return _only(folder, part, [[path] for path in found])[0] if found else None


def _part(folder: Path, part: str, source: str, target: str, test: str) -> list[Path]:
    """One file of pairs, or the two of parallel text; none where the part is not there."""
    sides = [find(folder, part, language, test) for language in (source, target)]
    found = [[side[stem] for side in sides] for stem in sides[0] if stem in sides[1]]
    found += [[path] for suffix in (".tsv", ".jsonl") for path in find(folder, part, suffix, test).values()]
    if found:
        return _only(folder, part, found)
    there = sorted({split_name(path)[1] for path in _belonging(folder, part, test)} - {""})
    for name, language, side in zip(("source", "target"), (source, target), sides, strict=True):
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
