"""The input files: a file, a folder or a pattern; uncompressed, gzip or xz."""

import glob
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from seqattn_tf.batch.readers import READERS, ParquetReader, Reader, Source, TextReader
from seqattn_tf.core.atomic_io import write_atomically
from seqattn_tf.core.compressed import bare, is_compressed, open_file
from seqattn_tf.core.encodings import UTF8, breaks_lines_as_ascii, iter_text, mark_of


def find_files(source: str) -> list[Path]:
    """Return the files that a name, a folder or a pattern refers to, in order.

    Raises:
        ValueError: If there are none, or if a file has an unsupported format.
    """
    path = Path(source)
    if path.is_file():
        ending(path)
        return [path]
    if path.is_dir():
        found = [inner for inner in sorted(path.iterdir()) if inner.is_file() and _is_read(inner)]
    else:
        found = [Path(name) for name in sorted(glob.glob(source, recursive=True)) if Path(name).is_file()]
        for inner in found:
            ending(inner)
    if not found:
        raise ValueError(f"input: expected files ({', '.join(READERS)}), a folder or a pattern. Received: {source}")
    return found


def ending(path: Path) -> str:
    """Return the suffix of a file, without that of its compression.

    >>> ending(Path("words.TSV.gz"))
    '.tsv'
    """
    found = bare(path).suffix.lower()
    if found not in READERS:
        raise ValueError(
            f"input: expected a name ending in {', '.join(READERS)}, optionally followed by .gz or .xz. "
            f"Received: {path.name}"
        )
    return found


def _is_read(path: Path) -> bool:
    return bare(path).suffix.lower() in READERS and not path.name.startswith(".")


def unpack(path: Path, folder: Path, number: int = 0, encoding: str = UTF8) -> Source:
    """Return a file that can be read from any position: the file itself, or a decompressed copy in UTF-8 in `folder`.

    Raises:
        ValueError: If its text is not in the given encoding.
    """
    recoded = encoding != UTF8 and ending(path) != ParquetReader.ending
    if not is_compressed(path) and not recoded:
        return Source(path, path)
    plain = folder / f"unpacked-{number}-{bare(path).name}"
    if not plain.is_file():
        with write_atomically(plain) as aside, open_file(path) as packed, aside.open("wb") as file:
            if recoded:
                _recode(path, packed, file, encoding)
            else:
                shutil.copyfileobj(packed, file, 2**20)
    return Source(path, plain)


def _recode(path: Path, source: IO[bytes], file: IO[bytes], encoding: str) -> None:
    """Copy a text as UTF-8 without changing its line ends."""
    with open_file(path) as opened:
        marked = mark_of(opened.read(4))
    if marked and not encoding.startswith(marked):
        raise ValueError(f"{path.name}: expected {encoding}. Received: the byte order mark of {marked}")
    number = 0
    try:
        for line in iter_text(source, encoding):
            number += 1
            file.write(line.encode(UTF8))
    except UnicodeError as error:
        reason = getattr(error, "reason", error)
        where = f", line {number + 1}" if breaks_lines_as_ascii(encoding) else ""
        raise ValueError(f"{path.name}{where}: expected {encoding}. Received: {reason}") from None


def open_reader(source: Source, inputs: Sequence[str]) -> Reader:
    """Return the reader of a file for a model whose inputs come from the columns with these names.

    Raises:
        ValueError: If the file lacks such columns, or is a plain text although there are several inputs.
    """
    kind = READERS[ending(source.path)]
    if kind is TextReader:
        if len(inputs) != 1:
            raise ValueError(
                f"input: expected a table with the columns {', '.join(inputs)}. "
                f"Received: {source.path.name}, a plain text file"
            )
        return TextReader(source, inputs[0])
    reader = kind(source)
    if reader.columns and (missing := [name for name in inputs if name not in reader.columns]):
        shown = [name[:30] for name in reader.columns]
        raise ValueError(
            f"{reader.name}: expected columns named {missing}. Received: {shown}; "
            "if a column has another name, use --column INPUT=COLUMN"
        )
    return reader
