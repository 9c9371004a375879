"""Examples of texts that are more than memory holds: rows on disk, in windows.

A window is a random part of all rows, the same for every training, and small enough for memory; what is done with
examples in memory is done with one window after the other.

    about.json                  what the rows are of, the rows and bytes of each window, a checksum
    00000.jsonl 00001.jsonl     rows: a list of the inputs and the target each
    dev.jsonl test.jsonl        rows that are held out
    counts-0f3a.json            how often each symbol of a column was seen, for each way to cut it
    encoded-91bc/00000.npz      windows as a model reads them (see `stream`)

The names of the last two also follow from the code that cuts texts: what another release wrote is not read.
"""

import collections
import itertools
import json
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from tqdm import tqdm

from seqattn_tf.core.atomic_io import write_json
from seqattn_tf.lite.text import Texts
from seqattn_tf.lite.text.cut import cutter
from seqattn_tf.training.data.code_version import SPLITTING, code_version
from seqattn_tf.training.data.examples import DataWarning, Example, Examples, example_of

MOST_SYMBOLS = 2_000_000  # that are counted; beyond them, those seen least are forgotten
ABOUT = "about.json"


def window_path(folder: Path, window: int) -> Path:
    """The file of the rows of a window."""
    return folder / f"{window:05d}.jsonl"


class Corpus(Examples):
    """The examples to train on of a folder that `dealing.write` has written.

    Raises:
        ValueError: the folder has none, or not all.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
            self.names, self.rows, sizes = about["inputs"], about["rows"], about["bytes"]
            self._checksum = about["checksum"]
            found = [window_path(folder, window).stat().st_size for window in range(len(self.rows))]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{folder}: expected a whole corpus. Received: {error}") from None
        if found != sizes:
            raise ValueError(f"{folder}: expected windows of {sizes} bytes. Received: {found}")

    @property
    def windows(self) -> int:
        """How many there are."""
        return len(self.rows)

    def window(self, number: int) -> Examples:
        """The examples of one, in memory."""
        return Examples(map(self._example, self.cells(number)))

    def cells(self, window: int) -> Iterator[list[str]]:
        """The inputs and the target of each row of a window."""
        return _rows(window_path(self.folder, window))

    def held_out(self, part: str) -> list[Example]:
        """Those that were held out for `dev` or `test`."""
        return list(map(self._example, _rows(self.folder / f"{part}.jsonl")))

    def _example(self, cells: Sequence[str]) -> Example:
        return example_of(self.names, cells)

    def inputs(self, name: str) -> "CorpusTexts":
        """One input of all."""
        if name not in self.names:
            raise ValueError(f"examples: expected an input {name!r} in each. Received: {sorted(self.names)}")
        return CorpusTexts(self, self.names.index(name))

    @property
    def targets(self) -> "CorpusTexts":
        """The targets of all."""
        return CorpusTexts(self, -1)

    def checksum(self, total: int = 0) -> int:
        """That of all examples, beginning with another."""
        return zlib.crc32(self._checksum.encode(), total)

    def __iter__(self) -> Iterator[Example]:
        return map(self._example, itertools.chain.from_iterable(map(self.cells, range(self.windows))))

    @overload
    def __getitem__(self, index: int) -> Example: ...
    @overload
    def __getitem__(self, index: slice) -> list[Example]: ...
    def __getitem__(self, index: int | slice) -> Example | list[Example]:
        return _item(self, index)

    def __len__(self) -> int:
        return sum(self.rows)


def _rows(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _item(values: Sequence[Any], index: int | slice) -> Any:
    """Of what can only be gone through."""
    if isinstance(index, slice):
        return list(itertools.islice(values, *index.indices(len(values))))
    if not -len(values) <= index < len(values):
        raise IndexError(index)
    return next(itertools.islice(values, index % len(values), None))


class CorpusTexts(Texts):
    """One column of a corpus, of whose symbols only the counts are kept."""

    def __init__(self, corpus: Corpus, place: int) -> None:
        super().__init__([])
        self.corpus, self.place = corpus, place

    def __iter__(self) -> Iterator[str]:
        windows = map(self.corpus.cells, range(self.corpus.windows))
        return (cells[self.place] for cells in itertools.chain.from_iterable(windows))

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return _item(self, index)

    def __len__(self) -> int:
        return len(self.corpus)

    def counts(
        self, split: str, fold: bool | str = False, by_lines: bool = False, sentences: bool = False
    ) -> collections.Counter:
        """How often each symbol stands in the texts: counted window by window, once, with a bar."""
        how = json.dumps([self.place, split, fold, by_lines, sentences, code_version(*SPLITTING)])
        path = self.corpus.folder / f"counts-{zlib.crc32(how.encode()):08x}.json"
        if path.is_file():
            return collections.Counter(json.loads(path.read_text(encoding="utf-8")))
        total: collections.Counter = collections.Counter()
        least, tokens = 0, cutter(split, fold, by_lines, sentences)
        for window in tqdm(range(self.corpus.windows), unit="window", desc="counting symbols"):
            texts = (cells[self.place] for cells in self.corpus.cells(window))
            total.update(itertools.chain.from_iterable(map(tokens, texts)))
            while len(total) > MOST_SYMBOLS:
                least += 1
                total = collections.Counter({symbol: count for symbol, count in total.items() if count > least})
        if least:
            warnings.warn(
                f"{self.corpus.folder.name}: expected at most {MOST_SYMBOLS} different symbols. "
                f"Passed over: more of them, seen {least} times or less in some stretch of the data",
                DataWarning,
                stacklevel=2,
            )
        write_json(path, total)
        return total
