"""Examples written to disk, dealt by chance to the windows of a corpus (see `corpus`)."""

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

WINDOW = 16 * 2**20  # bytes of text, about
_MOST_WINDOWS = 4096
HELD_OUT = {"dev": (0.0, DEV_SHARE, 2_000), "test": (TEST_START, TEST_SHARE, 10_000)}  # first hash, share, most rows


def write(folder: Path, examples: Iterable[Example], size: int, held: Sequence[str] = ()) -> None:
    """Write a corpus, in one pass, with a bar.

    Args:
        folder: to be; a whole one appears there, or none.
        examples: of texts, all with the same inputs.
        size: about how many bytes of text they are.
        held: of `dev` and `test`, what is held out of them by a hash of their keys: a share, but no more than serves.
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
