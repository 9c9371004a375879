"""Functions that write examples to disk, distributed at random over the windows of a corpus (see `corpus`)."""

import heapq
import itertools
import json
import random
import shutil
import time
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from tqdm import tqdm

from seqattn_tf.core.atomic_io import write_atomically, write_json
from seqattn_tf.training.data.corpus import ABOUT, window_path
from seqattn_tf.training.data.examples import DEV_SHARE, TEST_SHARE, TEST_START, Example, share

WINDOW = 16 * 2**20  # approximate bytes of text
_MOST_WINDOWS = 4096
HELD_OUT = {"dev": (0.0, DEV_SHARE, 2_000), "test": (TEST_START, TEST_SHARE, 10_000)}  # first hash, share, maximum rows


def write(folder: Path, examples: Iterable[Example], size: int, held: Sequence[str] = ()) -> None:
    """Write a corpus in one pass, with a progress bar.

    Args:
        folder: The folder to create. It is created as a whole or not at all.
        examples: Text examples, all with the same inputs.
        size: The approximate size of the texts in bytes.
        held: Which of `dev` and `test` to hold out by a hash of the keys: a share of the rows each, up to a maximum
            number.
    """
    _sweep(folder.parent)
    windows = min(max(-(-size // WINDOW), 1), _MOST_WINDOWS)
    with write_atomically(folder) as aside:
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
    """Remove temporary folders that a killed process left at least a day ago."""
    for left in folder.glob(".*") if folder.is_dir() else ():
        if left.is_dir() and time.time() - left.stat().st_mtime > age:
            shutil.rmtree(left, ignore_errors=True)


class _HeldOut:
    """The rows whose hashes fall in an interval, limited to a maximum number of rows.

    If there are too many, the rows with the smallest hashes are taken. Rows of the same key are held out together or
    not at all.
    """

    def __init__(self, start: float, fraction: float, most: int) -> None:
        self.start, self.stop, self.most = start, start + fraction, most
        self.heap: list[tuple[float, int, str]] = []  # a heap with the largest hash on top
        self.number = itertools.count()

    def takes(self, where: float) -> bool:
        """Return whether a row with this hash is held out, given the rows so far."""
        return self.start <= where < self.stop

    def add(self, where: float, line: str) -> list[str]:
        """Hold out a row, and return the rows that it displaces."""
        heapq.heappush(self.heap, (-where, next(self.number), line))
        given = []
        if len(self.heap) > self.most:
            self.stop = -self.heap[0][0]
            while self.heap and -self.heap[0][0] == self.stop:
                given.append(heapq.heappop(self.heap)[2])
        return given

    @property
    def lines(self) -> list[str]:
        """The rows held out, in the order in which they were added."""
        return [line for _, _, line in sorted(self.heap, key=lambda entry: entry[1])]


class _Spool:
    """A writer that distributes lines over windows at random and keeps few of them in memory."""

    WAITING = 32 * 2**20  # approximate number of characters

    def __init__(self, folder: Path, windows: int) -> None:
        self.folder, self.random = folder, random.Random(0)
        self.lines: list[list[str]] = [[] for _ in range(windows)]
        self.rows, self.waiting = [0] * windows, 0

    def add(self, line: str) -> None:
        """Add a line to a random window."""
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
        """Finish the windows, and return the numbers of rows and bytes of those that are not empty.

        A window that has become too large, as happens with compressed files, is distributed over several.
        """
        self._flush()
        rows: list[int] = []
        for window, count in enumerate(self.rows):
            path = self.folder / f"spool-{window}"
            if count:
                parts = max(round(path.stat().st_size / WINDOW), 1)
                rows += self._deal(path, parts, len(rows)) if parts > 1 else self._rename(path, count, len(rows))
        sizes = [window_path(self.folder, window).stat().st_size for window in range(len(rows))]
        return rows, sizes

    def _rename(self, path: Path, count: int, first: int) -> list[int]:
        path.rename(window_path(self.folder, first))
        return [count]

    def _deal(self, path: Path, parts: int, first: int) -> list[int]:
        counts = [0] * parts
        files = [window_path(self.folder, first + part).open("w", encoding="utf-8") for part in range(parts)]
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                part = self.random.randrange(parts)
                files[part].write(line)
                counts[part] += 1
        for file in files:
            file.close()
        path.unlink()
        return counts
