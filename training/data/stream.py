"""Batches of a corpus on disk: its windows are encoded for a model and read one after another.

In each epoch, the windows come in random order, and each is divided into batches like examples in memory. The number of
batches of a window is the same in every epoch, so that training can be resumed at any step.
"""

import contextlib
import dataclasses
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from seqattn_tf.core.atomic_io import write_atomically
from seqattn_tf.training.data.batches import Batching, Columns, Part, plan, whole
from seqattn_tf.training.data.corpus import Corpus
from seqattn_tf.training.data.examples import Examples
from seqattn_tf.training.data.skipped import SkippedExamples

_ATTEMPTS = 4  # to read an array, before the last one
Encode = Callable[[Examples], tuple[Columns, np.ndarray, SkippedExamples]]


class Encoded:
    """The windows of a corpus as arrays on disk. Missing ones are created, with a progress bar.

    Args:
        corpus: A corpus of texts.
        key: A hash of what the arrays depend on: the vocabulary, and the code that tokenizes texts.
        read: A function from examples to their columns, the rows that can be trained on, and a summary of the other
            rows.

    Attributes:
        columns: The columns of the first window.
        sample: The columns of the first window, its rows that can be trained on, and a summary of the skipped rows of
            all windows.
        windows: The number of windows.
    """

    def __init__(self, corpus: Corpus, key: str, read: Encode) -> None:
        self.folder, self.windows = corpus.folder / f"encoded-{key}", corpus.windows
        first = self.columns, rows, _ = read(corpus.window(0))
        left = SkippedExamples()
        for window in tqdm(range(corpus.windows), unit="window", desc="encoding texts"):
            if not self._is_whole(window):
                _write(self._path(window), *(read(corpus.window(window)) if window else first))
            with np.load(self._path(window)) as stored:
                left += SkippedExamples(**json.loads(stored["left"].tobytes()))
        self.sample = self.columns, rows, left

    def _path(self, window: int) -> Path:
        return self.folder / f"{window:05d}.npz"

    def _is_whole(self, window: int) -> bool:
        """Return whether the file of a window exists and is intact."""
        try:
            with zipfile.ZipFile(self._path(window)) as stored:
                return stored.testzip() is None
        except (OSError, zipfile.BadZipFile):
            return False

    def lengths(self, window: int) -> list[np.ndarray]:
        """Return the lengths of the rows of a window that can be trained on, by column."""
        with np.load(self._path(window)) as stored:
            return [_array(stored, f"lengths/{number}") for number in range(len(self.columns.all))]

    def arrays(self, window: int) -> Iterator[np.ndarray]:
        """Yield the rows that can be trained on, then the arrays of every column in order."""
        with np.load(self._path(window)) as stored:
            yield _array(stored, "rows").astype(np.int64)
            for number, column in enumerate(self.columns.all):
                for name, like in column.arrays.items():
                    yield _array(stored, f"{number}/{name}").astype(like.dtype.as_numpy_dtype)


def _array(stored: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """Read an array of an open window.

    NumPy parses its header as Python code. That may fail in CPython 3.11 if another thread does the same, such as the
    one that traces a graph (python/cpython#106905): then the array is read again.
    """
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(SystemError):
            return stored[name]
    return stored[name]


def _write(path: Path, columns: Columns, rows: np.ndarray, left: SkippedExamples) -> None:
    arrays = {
        "left": np.frombuffer(json.dumps(dataclasses.asdict(left)).encode(), np.uint8),
        "rows": _narrow(rows),
        **{f"lengths/{number}": _narrow(column.lengths[rows]) for number, column in enumerate(columns.all)},
    }
    for number, column in enumerate(columns.all):
        if not column.arrays:
            raise ValueError(f"stream: expected texts and labels only. Received: {type(column).__name__}")
        arrays |= {f"{number}/{name}": _narrow(array.numpy()) for name, array in column.arrays.items()}
    with write_atomically(path) as aside, aside.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def _narrow(array: np.ndarray) -> np.ndarray:
    """Convert integers to the smallest type that fits them.

    >>> _narrow(np.array([0, 255])).dtype.name, _narrow(np.array([-1])).dtype.name, _narrow(np.array([0.5])).dtype.name
    ('uint8', 'int64', 'float64')
    """
    if array.dtype.kind not in "iu" or not array.size or array.min() < 0:
        return array
    return array.astype(np.min_scalar_type(int(array.max())))


class Stream:
    """A plan of batches over the windows of a corpus.

    Args:
        encoded: The windows of the corpus.
        batching: The rules by which rows make batches.
    """

    def __init__(self, encoded: Encoded, batching: Batching) -> None:
        self.encoded, self.batching = encoded, batching
        steps, places, self.batch_size = [], 0, 0
        for window in range(encoded.windows):
            lengths = encoded.lengths(window)
            sizes = np.diff(batching.cuts(lengths))
            steps.append(len(sizes))
            self.batch_size = int(np.gcd.reduce([self.batch_size, *sizes]))
            places += sum(int(np.maximum(column, 1, dtype=np.int64).sum()) for column in lengths)
        self.of_window, self.steps = np.array(steps), sum(steps)
        self.symbols = places / max(self.steps, 1)

    def batches(self, epochs: range, step: int = 0, part: Part = whole) -> tf.data.Dataset:
        """Return the batches of these epochs, without the first `step`; `part` selects rows of each batch."""
        places = np.array(list(self._windows(epochs, step)), np.int64).reshape(-1, 3)
        todo = tf.data.Dataset.from_tensor_slices(places)
        loaded = todo.map(tf.autograph.experimental.do_not_convert(self._load)).prefetch(1)

        @tf.autograph.experimental.do_not_convert
        def batches(*found: tf.Tensor) -> tf.data.Dataset:
            return self._batches(part, *found)

        return loaded.flat_map(batches).prefetch(4)

    def _windows(self, epochs: range, step: int) -> Iterator[tuple[int, int, int]]:
        """Yield `(epoch, window, first step)` for every window with steps to run."""
        for epoch in epochs:
            for window in np.random.default_rng([self.batching.seed, epoch]).permutation(len(self.of_window)):
                if step < self.of_window[window]:
                    yield epoch, int(window), step
                step = max(step - int(self.of_window[window]), 0)

    def _load(self, place: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Return what the batches of a window are made from: its place, keys, cuts, rows and arrays."""
        arrays = [array for column in self.encoded.columns.all for array in column.arrays.values()]
        kinds = [tf.int64, tf.int64, tf.int64, *(array.dtype for array in arrays)]
        shapes: list[Any] = [[None], [None], [None], *([None, *array.shape[1:]] for array in arrays)]
        found = tf.numpy_function(self._read, [place[1]], kinds, stateful=False)
        return place, *(tf.ensure_shape(tensor, shape) for tensor, shape in zip(found, shapes, strict=True))

    def _read(self, window: np.ndarray) -> list[np.ndarray]:
        lengths = self.encoded.lengths(int(window))
        return [self.batching.keys(lengths), self.batching.cuts(lengths), *self.encoded.arrays(int(window))]

    def _batches(
        self, part: Part, place: tf.Tensor, keys: tf.Tensor, cuts: tf.Tensor, rows: tf.Tensor, *flat: tf.Tensor
    ) -> tf.data.Dataset:
        """Return the batches of a window, from the first step to run."""
        seed = tf.stack([tf.constant(self.batching.seed, tf.int64), place[0] * len(self.of_window) + place[1]])
        found = plan(keys, cuts, seed)
        found = found.with_flat_values(tf.gather(rows, found.flat_values))
        steps = tf.data.Dataset.from_tensor_slices(found).skip(place[2])
        arrays: list[Mapping[str, tf.Tensor]] = []
        left = iter(flat)
        for column in self.encoded.columns.all:
            arrays.append({name: next(left) for name in column.arrays})

        @tf.autograph.experimental.do_not_convert
        def batch(rows: tf.Tensor) -> Any:
            return self.encoded.columns.batch_of(arrays, rows)

        return part(steps).map(batch)
