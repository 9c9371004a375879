"""Your own pictures or sounds with captions: a table beside the files, or a table in the format of Flickr8k.

    photos/captions.csv   photos/dog.jpg   photos/more/cat.png        image,caption
    photos/train.jsonl    photos/test.jsonl    photos/*.jpg           {"image": "dog.jpg", "caption": "a dog runs"}
    photos/all.token.txt  photos/dog.jpg                              dog.jpg#0<TAB>a dog runs

File names are relative to the folder of the table. A file with several captions has several rows, and all of its
captions count as correct.
"""

import dataclasses
import warnings
from collections.abc import Sequence
from pathlib import Path

from seqattn_tf.training.data import files
from seqattn_tf.training.data.examples import DataWarning, Example, Splits
from seqattn_tf.training.data.finding import check_folder
from seqattn_tf.training.data.reading import TABLES, read_rows, refuse_loss, split_name
from seqattn_tf.training.data.sources import reads_for_test, split
from seqattn_tf.training.data.stored import Stored

_TOKENS = ".token.txt"  # the ending of a table in the format of Flickr8k
_WANTED = f"a table of files and their captions or labels ({', '.join(TABLES)} or *{_TOKENS})"


def load(
    data: str | Path,
    image: str = "image",
    caption: str = "caption",
    *,
    kind: str = "image",
    test: str = "test",
    split_column: str = "",
) -> Splits:
    """Load files with captions.

    If `dev` or `test` is missing, it is held out by a hash of the file names.

    Args:
        data: A table, or a folder with one table, or with one table for each part.
        image, caption: The names of the columns.
        kind: The name of the input that the files become.
        test, split_column: As in `files.load`.
    """
    where = _table(Path(data))
    folder = where if where.is_dir() else where.parent
    if where.name.endswith(_TOKENS):
        rows = read_rows(where, ["0", "1"])
        found = split(
            {"train": [Example(name, {kind: name}, text) for name, text in map(_unnumbered, rows)]},
            {"train": where.name},
        )
    else:
        found = files.load(where, {kind: image}, caption, test=test, split_column=split_column)
    parts = {part: _stored(folder, getattr(found, part), kind) for part in ("train", "dev", "test")}
    if not all(parts[part] for part in (("test",) if reads_for_test() else parts)):
        counts = {part: len(examples) for part, examples in parts.items()}
        raise ValueError(f"{folder}: expected {kind} files in each split. Received: {counts}")
    return dataclasses.replace(found, train=parts["train"], dev=parts["dev"], test=parts["test"])


def _table(data: Path) -> Path:
    """Return the table to read, or the folder if it has a table for each part."""
    if data.is_file():
        return data
    folder = check_folder(data, _WANTED)
    tables = [path for path in sorted(folder.iterdir()) if split_name(path)[1] in TABLES or path.name.endswith(_TOKENS)]
    if len(tables) == 1:
        return tables[0]
    if any(path.name.startswith("train") for path in tables):
        return folder
    names = [path.name for path in tables] or "none"
    raise ValueError(f"{folder}: expected {_WANTED}, or one for each of train, dev and test. Received: {names}")


def _unnumbered(row: Sequence[str]) -> tuple[str, str]:
    """Remove the caption number from a file name: `dog.jpg#0` becomes `dog.jpg`."""
    name, mark, number = row[0].rpartition("#")
    return (name if mark and number.isdecimal() else row[0]), row[1]


def _stored(folder: Path, examples: Sequence[Example], kind: str) -> list[Example]:
    """Return the examples whose files exist, and warn about the others."""
    there = {name: Stored(folder / name) for name in {example.inputs[kind] for example in examples}}
    missing = sorted(name for name, stored in there.items() if not stored.path.is_file())
    if missing:
        shown = ", ".join(missing[:3])
        are = "is" if len(missing) == 1 else "are"
        message = f"{folder}: {len(missing)} of {len(there)} {kind} files {are} missing; skipped: {shown}"
        warnings.warn(message, DataWarning, stacklevel=4)
        refuse_loss(str(folder), len(missing), len(there), f"or missing {kind} files", [f"missing: {shown}"])
    return [
        example._replace(inputs={kind: there[example.inputs[kind]]})
        for example in examples
        if example.inputs[kind] not in set(missing)
    ]
