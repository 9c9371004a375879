"""Text examples that do not fit into memory: rows on disk, in windows.

A window is a random subset of the rows. The windows are the same for every run and small enough for memory; whatever is
done with examples in memory is done with one window after another.

    about.json                  the inputs, the numbers of rows and bytes of each window, a checksum
    00000.jsonl 00001.jsonl     rows: a list of the inputs and the target each
    dev.jsonl test.jsonl        rows that are held out
    counts-0f3a.json            the frequency of each symbol of a column, for one way to tokenize it
    encoded-91bc/00000.npz      windows encoded for a model (see `stream`)

The names of the last two also depend on the code that tokenizes texts, so files written by another release are not
read.
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

MOST_SYMBOLS = 2_000_000  # symbols that are counted; beyond that, the rarest ones are dropped
ABOUT = "about.json"


def window_path(folder: Path, window: int) -> Path:
    """Return the path of the file with the rows of a window."""
    return folder / f"{window:05d}.jsonl"


class Corpus(Examples):
    """The training examples in a folder that `windows.write` has written.

    Raises:
        ValueError: If the folder contains no corpus or an incomplete one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
            self.names, self.rows, sizes = about["inputs"], about["rows"], about["bytes"]
            self._checksum = about["checksum"]
            found = [window_path(folder, window).stat().st_size for window in range(len(self.rows))]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{folder}: expected a complete corpus. Received: {error}") from None
        if found != sizes:
            raise ValueError(f"{folder}: expected windows of {sizes} bytes. Received: {found}")

    @property
    def windows(self) -> int:
        """The number of windows."""
        return len(self.rows)

    def window(self, number: int) -> Examples:
        """Return the examples of a window, in memory."""
        return Examples(map(self._example, self.cells(number)))

    def cells(self, window: int) -> Iterator[list[str]]:
        """Yield the inputs and the target of each row of a window."""
        return _rows(window_path(self.folder, window))

    def held_out(self, part: str) -> list[Example]:
        """Return the examples held out for `dev` or `test`."""
        return list(map(self._example, _rows(self.folder / f"{part}.jsonl")))

    def _example(self, cells: Sequence[str]) -> Example:
        return example_of(self.names, cells)

    def inputs(self, name: str) -> "_CorpusTexts":
        """Return one input of every example."""
        if name not in self.names:
            raise ValueError(f"examples: expected an input {name!r} in each. Received: {sorted(self.names)}")
        return _CorpusTexts(self, self.names.index(name))

    @property
    def targets(self) -> "_CorpusTexts":
        """The target of every example."""
        return _CorpusTexts(self, -1)

    def checksum(self, total: int = 0) -> int:
        """Return a checksum of all examples that continues from `total`."""
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
    """Return an item or a slice of a sequence that supports iteration only."""
    if isinstance(index, slice):
        return list(itertools.islice(values, *index.indices(len(values))))
    if not -len(values) <= index < len(values):
        raise IndexError(index)
    return next(itertools.islice(values, index % len(values), None))


class _CorpusTexts(Texts):
    """One column of a corpus; only the counts of its symbols are kept in memory."""

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
        self,
        tokenizer: str,
        lowercase: bool = False,
        strip_accents: bool = False,
        by_lines: bool = False,
        split_sentences: bool = False,
    ) -> collections.Counter:
        """Count each symbol in the texts.

        This runs window by window, with a progress bar, and the result is stored in the folder of the corpus.
        """
        how = json.dumps(
            [self.place, tokenizer, lowercase, strip_accents, by_lines, split_sentences, code_version(*SPLITTING)]
        )
        path = self.corpus.folder / f"counts-{zlib.crc32(how.encode()):08x}.json"
        if path.is_file():
            return collections.Counter(json.loads(path.read_text(encoding="utf-8")))
        total: collections.Counter = collections.Counter()
        least, tokens = 0, cutter(tokenizer, lowercase, strip_accents, by_lines, split_sentences)
        for window in tqdm(range(self.corpus.windows), unit="window", desc="counting tokens"):
            texts = (cells[self.place] for cells in self.corpus.cells(window))
            total.update(itertools.chain.from_iterable(map(tokens, texts)))
            while len(total) > MOST_SYMBOLS:
                least += 1
                total = collections.Counter({symbol: count for symbol, count in total.items() if count > least})
        if least:
            warnings.warn(
                f"{self.corpus.folder.name}: expected at most {MOST_SYMBOLS} different tokens. "
                f"Skipped: tokens that occur at most {least} times in a section of the data",
                DataWarning,
                stacklevel=2,
            )
        write_json(path, total)
        return total
