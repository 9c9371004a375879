"""Examples of texts that are more than memory holds: rows on disk, in windows.

A window is a random part of all rows, the same for every training, and small enough for memory; what is done with
examples in memory is done with one window after the other.

    about.json                  what the rows are of, the rows and bytes of each window, a checksum
    00000.jsonl 00001.jsonl     rows: a list of the inputs and the target each
    dev.jsonl test.jsonl        rows that are held out
    counts-0f3a.json            how often each symbol of a column was seen, for each way to cut it
    encoded-91bc/00000.npz      windows as a model reads them (see `stream`)
"""

import collections
import heapq
import itertools
import json
import random
import shutil
import time
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from tqdm import tqdm

from seqattn_tf.aside import write_aside, write_json
from seqattn_tf.text import Texts
from seqattn_tf.text.cut import cutter
from seqattn_tf.training.data.examples import DEV_SHARE, TEST_SHARE, TEST_START, DataWarning, Example, Examples, share

WINDOW = 16 * 2**20  # bytes of text, about
MOST_WINDOWS = 4096
HELD_OUT = {"dev": (0.0, DEV_SHARE, 2_000), "test": (TEST_START, TEST_SHARE, 10_000)}  # first hash, share, most rows
MOST_SYMBOLS = 2_000_000  # that are counted; beyond them, those seen least are forgotten
ABOUT = "about.json"


class Corpus(Examples):
    """The examples to train on of a folder that `write` has written.

    Raises:
        ValueError: the folder has none, or not all.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
            self.names, self.rows, sizes = about["inputs"], about["rows"], about["bytes"]
            self._checksum = about["checksum"]
            found = [self._path(window).stat().st_size for window in range(len(self.rows))]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{folder}: expected a whole corpus. Received: {error}") from None
        if found != sizes:
            raise ValueError(f"{folder}: expected windows of {sizes} bytes. Received: {found}")

    def _path(self, window: int) -> Path:
        return self.folder / f"{window:05d}.jsonl"

    @property
    def windows(self) -> int:
        """How many there are."""
        return len(self.rows)

    def window(self, number: int) -> Examples:
        """The examples of one, in memory."""
        return Examples(map(self._example, self.cells(number)))

    def cells(self, window: int) -> Iterator[list[str]]:
        """The inputs and the target of each row of a window."""
        return _rows(self._path(window))

    def held_out(self, part: str) -> list[Example]:
        """Those that were held out for `dev` or `test`."""
        return list(map(self._example, _rows(self.folder / f"{part}.jsonl")))

    def _example(self, cells: Sequence[str]) -> Example:
        *given, target = cells
        return Example("\t".join(given), dict(zip(self.names, given, strict=True)), target)

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
        how = json.dumps([self.place, split, fold, by_lines, sentences])
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


def write(folder: Path, examples: Iterable[Example], size: int, held: Sequence[str] = ()) -> None:
    """Write a corpus, in one pass, with a bar.

    Args:
        folder: to be; a whole one appears there, or none.
        examples: of texts, all with the same inputs.
        size: about how many bytes of text they are.
        held: of `dev` and `test`, what is held out of them by a hash of their keys: a share, but no more than serves.
    """
    _sweep(folder.parent)
    windows = min(max(-(-size // WINDOW), 1), MOST_WINDOWS)
    with write_aside(folder) as aside:
        aside.mkdir()
        spool, parts = _Spool(aside, windows), {part: _HeldOut(*HELD_OUT[part]) for part in held}
        checksum, names = 0, None
        with tqdm(total=size, unit="B", unit_scale=True, desc="reading") as bar:
            for example in examples:
                names = names or list(example.inputs)
                cells = [*example.inputs.values(), example.target]
                bar.update(sum(map(len, cells)) + len(cells))
                line = json.dumps(cells, ensure_ascii=False)
                where = share(example.key)
                for kept in next((part.add(where, line) for part in parts.values() if part.takes(where)), [line]):
                    checksum = zlib.crc32(kept.encode(), checksum)
                    spool.add(kept)
        for part, held_out in parts.items():
            (aside / f"{part}.jsonl").write_text("".join(f"{line}\n" for line in held_out.lines), encoding="utf-8")
        rows, sizes = spool.close()
        about = {"inputs": names or [], "rows": rows, "bytes": sizes, "checksum": f"{checksum:08x}"}
        write_json(aside / ABOUT, about)


def _sweep(folder: Path, age: float = 86_400.0) -> None:
    """Remove what a killed process has left, a day after."""
    for left in folder.glob(".*") if folder.is_dir() else ():
        if left.is_dir() and time.time() - left.stat().st_mtime > age:
            shutil.rmtree(left, ignore_errors=True)


class _HeldOut:
    """Rows whose hashes are in a stretch: of too many, those of the smallest hashes; all rows of a key, or none."""

    def __init__(self, start: float, fraction: float, most: int) -> None:
        self.start, self.stop, self.most = start, start + fraction, most
        self.heap: list[tuple[float, int, str]] = []  # the largest hash first
        self.number = itertools.count()

    def takes(self, where: float) -> bool:
        """Whether a row of this hash is held out, as far as is known."""
        return self.start <= where < self.stop

    def add(self, where: float, line: str) -> list[str]:
        """Hold out a row; those that have to give way to it are given back."""
        heapq.heappush(self.heap, (-where, next(self.number), line))
        given = []
        if len(self.heap) > self.most:
            self.stop = -self.heap[0][0]
            while self.heap and -self.heap[0][0] == self.stop:
                given.append(heapq.heappop(self.heap)[2])
        return given

    @property
    def lines(self) -> list[str]:
        """What is held out, in the order in which it came."""
        return [line for _, _, line in sorted(self.heap, key=lambda entry: entry[1])]


class _Spool:
    """Lines that are dealt to windows by chance, few of them in memory."""

    WAITING = 32 * 2**20  # characters, about

    def __init__(self, folder: Path, windows: int) -> None:
        self.folder, self.random = folder, random.Random(0)
        self.lines: list[list[str]] = [[] for _ in range(windows)]
        self.rows, self.waiting = [0] * windows, 0

    def add(self, line: str) -> None:
        """To any window."""
        window = self.random.randrange(len(self.lines))
        self.lines[window].append(line)
        self.rows[window] += 1
        self.waiting += len(line)
        if self.waiting > self.WAITING:
            self._flush()

    def _flush(self) -> None:
        for window, lines in enumerate(self.lines):
            if lines:
                with (self.folder / f"spool-{window}").open("a", encoding="utf-8") as file:
                    file.writelines(f"{line}\n" for line in lines)
                lines.clear()
        self.waiting = 0

    def close(self) -> tuple[list[int], list[int]]:
        """The rows and bytes of the windows that have any; one that became too large, as packed files may have it, is
        dealt again to several."""
        self._flush()
        rows: list[int] = []
        for window, count in enumerate(self.rows):
            path = self.folder / f"spool-{window}"
            if count:
                parts = max(round(path.stat().st_size / WINDOW), 1)
                rows += self._deal(path, parts, len(rows)) if parts > 1 else self._rename(path, count, len(rows))
        sizes = [(self.folder / f"{window:05d}.jsonl").stat().st_size for window in range(len(rows))]
        return rows, sizes

    def _rename(self, path: Path, count: int, first: int) -> list[int]:
        path.rename(self.folder / f"{first:05d}.jsonl")
        return [count]

    def _deal(self, path: Path, parts: int, first: int) -> list[int]:
        counts = [0] * parts
        files = [(self.folder / f"{first + part:05d}.jsonl").open("w", encoding="utf-8") for part in range(parts)]
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                part = self.random.randrange(parts)
                files[part].write(line)
                counts[part] += 1
        for file in files:
            file.close()
        path.unlink()
        return counts
