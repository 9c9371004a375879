"""Column files: one word with its annotations per line and a blank line between sentences, as in CoNLL and CoNLL-U.

    Confidence NN B-NP                  columns are counted from 0, or from the end: -1 is the last
    in IN B-PP

The columns also have names in files of ten columns (`.conllu`) and in files of the five `form upos xpos head deprel`.
In files of ten columns, lines that begin with `#` are comments, and multiword tokens (`1-2`) and empty nodes (`1.1`)
are skipped. A sentence with a malformed line is skipped, with a warning that names the file and the line. A file with
too many of them is an error (see `reading`).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from seqattn_tf.lite.fields import Words
from seqattn_tf.training.data.examples import Example, Splits
from seqattn_tf.training.data.finding import check_folder, find_files
from seqattn_tf.training.data.reading import Faults, read_lines
from seqattn_tf.training.data.sources import split

_NAMES = {
    5: ("form", "upos", "xpos", "head", "deprel"),
    10: ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"),
}
_WANTED = "train, dev and test files of columns (.txt, .tsv, .conll, .conllu, .iob, plain, .gz or .xz)"
ENDINGS = ("conllu", "conll", "iob2", "iob", "bio", ".tsv", "txt")  # in order of preference
_DOCUMENT = "-DOCSTART-"  # marks the beginning of a document, formatted as a sentence
_NO_WORD = re.compile(r"\d+[-.]\d+")  # the number of a multiword token or of an empty node
Target = Callable[[list[tuple[str, ...]]], str]


def load(data: str | Path | None, columns: Sequence[str], target: Target) -> Splits:
    """Load the sentences of column files: texts with a word per line, and targets computed from the other columns.

    Args:
        data: A file, or a folder with `train`, `dev` and `test`; what is missing is held out of `train`.
        columns: The column of the words, then those that the target needs; numbers, or names if the columns have any.
        target: A function from the rows of a sentence, each with these columns, to its target. It raises `ValueError`
            for a malformed sentence.
    """
    if data is not None and Path(data).is_file():
        paths = {"train": Path(data)}
    else:
        folder = check_folder(data, _WANTED)
        paths = find_files(folder, ENDINGS)
        if "train" not in paths:
            raise ValueError(
                f"{folder}: expected {_WANTED}. Received: {sorted(path.name for path in folder.iterdir())}"
            )
    examples = {part: list(_examples(path, columns, target)) for part, path in paths.items()}
    return split(examples, {part: path.name for part, path in paths.items()})


def _examples(path: Path, columns: Sequence[str], target: Target) -> Iterator[Example]:
    faults, good = Faults(path.name), 0
    for number, rows in read_sentences(path, columns, faults):
        try:
            found = target(rows)
        except ValueError as error:
            faults.add(number, *_parts(error))
            continue
        good += 1
        text = Words.raw([row[0] for row in rows]).decode()
        yield Example(text, {"text": text}, found)
    if not good:
        count = faults.count or "no"
        raise ValueError(f"{path}: expected at least one valid sentence. Received: {count} malformed ones")
    faults.close(good, "sentences")


def _parts(error: ValueError) -> tuple[str, str]:
    """Split an error message into what was expected and what was received."""
    expected, _, received = str(error).partition(". Received: ")
    return expected.removeprefix("expected "), received


def read_sentences(path: Path, columns: Sequence[str], faults: Faults) -> Iterator[tuple[int, list[tuple[str, ...]]]]:
    """Yield the sentences of a file, each with the number of its first line and some columns of its words.

    A sentence with several malformed lines counts as lost only once.
    """
    lines = read_lines(path, faults)
    width = len(_cells(next((line for line in lines if line and line.strip() and line[0] != "#"), "")))
    if not width:
        return
    places = [_place(column, width, path) for column in columns]
    rows: list[tuple[str, ...]] = []
    first, good = 0, True
    for number, line in enumerate([*lines, ""], 1):
        if line is None:  # reported, and counted as lost, by `read_lines`
            faults.lost -= not good
            good = False
        elif not line.strip():
            if rows and good and rows[0][0] != _DOCUMENT:
                yield first, rows
            rows, good = [], True
        elif width != 10 or line[0] != "#":
            cells = _cells(line)
            first = first if rows else number
            if len(cells) != width:
                faults.add(number, f"{width} columns, as in the first line", line, lost=good)
                good = False
            elif width != 10 or not _NO_WORD.fullmatch(cells[0]):
                rows.append(tuple(cells[place].strip() for place in places))
                if not all(rows[-1]):
                    faults.add(number, "nonempty text in each column", line, lost=good)
                    good = False
                elif width == 10 and good and cells[0] != str(len(rows)):  # heads refer to word numbers
                    faults.add(number, f"{len(rows)}, the number of the word, in the first column", line, lost=good)
                    good = False


def _cells(line: str) -> list[str]:
    return line.rstrip().split("\t") if "\t" in line else line.split()


def _place(column: str, width: int, path: Path) -> int:
    names = _NAMES.get(width, ())
    if column in names:
        return names.index(column)
    if column == "form" and not names:
        return 0
    if column.removeprefix("-").isdecimal() and -width <= int(column) < width:
        return int(column)
    known = f", or one of {', '.join(names)}" if names else ""
    raise ValueError(f"{path.name}: expected a column from {-width} to {width - 1}{known}. Received: {column!r}")
