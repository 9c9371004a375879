"""Batches of a corpus on disk: its windows as a model reads them, one after the other.

Of an epoch, the windows come in an order by chance, and of each its batches as those of examples in memory do. How
many batches a window makes is the same in every epoch, so that a training can be taken up at any step.
"""

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
from seqattn_tf.training.data.left_out import LeftOut

Read = Callable[[Examples], tuple[Columns, np.ndarray, LeftOut]]


class Encoded:
    """The windows of a corpus as arrays on disk, made where they are not there yet, with a bar.

    Args:
        corpus: of texts.
        key: a hash of what the arrays depend on: the vocabulary, and the code that splits texts.
        read: examples to their columns, those of them that can be learned from, and what is said of the others.

    Attributes:
        columns: of the first window.
        sample: the same, the rows of it that can be learned from, and what is said of all windows' others.
        windows: how many there are.
    """

    def __init__(self, corpus: Corpus, key: str, read: Read) -> None:
        self.folder, self.windows = corpus.folder / f"encoded-{key}", corpus.windows
        first = self.columns, rows, _ = read(corpus.window(0))
        left = LeftOut()
        for window in tqdm(range(corpus.windows), unit="window", desc="cutting texts"):
            if not self._is_whole(window):
                _write(self._path(window), *(read(corpus.window(window)) if window else first))
            with np.load(self._path(window)) as stored:
                left += LeftOut(**json.loads(stored["left"].tobytes()))
        self.sample = self.columns, rows, left

    def _path(self, window: int) -> Path:
        return self.folder / f"{window:05d}.npz"

    def _is_whole(self, window: int) -> bool:
        """Whether the file of a window is there, and as it was written."""
        try:
            with zipfile.ZipFile(self._path(window)) as stored:
                return stored.testzip() is None
        except (OSError, zipfile.BadZipFile):
            return False

    def lengths(self, window: int) -> list[np.ndarray]:
        """Of the rows of a window that can be learned from, by column."""
        with np.load(self._path(window)) as stored:
            return [stored[f"lengths/{number}"] for number in range(len(self.columns.all))]

    def arrays(self, window: int) -> Iterator[np.ndarray]:
        """The rows that can be learned from, and the arrays of every column, in their order."""
        with np.load(self._path(window)) as stored:
            yield stored["rows"].astype(np.int64)
            for number, column in enumerate(self.columns.all):
                for name, like in column.arrays.items():
                    yield stored[f"{number}/{name}"].astype(like.dtype.as_numpy_dtype)


def _write(path: Path, columns: Columns, rows: np.ndarray, left: LeftOut) -> None:
    arrays = {
        "left": np.frombuffer(json.dumps(dataclasses.asdict(left)).encode(), np.uint8),
        "rows": _narrow(rows),
        **{f"lengths/{number}": _narrow(column.lengths[rows]) for number, column in enumerate(columns.all)},
    }
    for number, column in enumerate(columns.all):
        if not column.arrays:
            raise ValueError(f"stream: expected texts and labels alone. Received: {type(column).__name__}")
        arrays |= {f"{number}/{name}": _narrow(array.numpy()) for name, array in column.arrays.items()}
    with write_atomically(path) as aside, aside.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def _narrow(array: np.ndarray) -> np.ndarray:
    """Whole numbers in as few bytes as hold them.

    >>> _narrow(np.array([0, 255])).dtype.name, _narrow(np.array([-1])).dtype.name, _narrow(np.array([0.5])).dtype.name
    ('uint8', 'int64', 'float64')
    """
    if array.dtype.kind not in "iu" or not array.size or array.min() < 0:
        return array
    return array.astype(np.min_scalar_type(int(array.max())))


class Stream:
    """Which examples of a corpus make which batch.

    Args:
        encoded: its windows.
        batching: how.
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
        """The batches of these epochs one after another, but for the first `step` ones; of each `part`."""
        places = np.array(list(self._windows(epochs, step)), np.int64).reshape(-1, 3)
        todo = tf.data.Dataset.from_tensor_slices(places)
        loaded = todo.map(tf.autograph.experimental.do_not_convert(self._load)).prefetch(1)

        @tf.autograph.experimental.do_not_convert
        def batches(*found: tf.Tensor) -> tf.data.Dataset:
            return self._batches(part, *found)

        return loaded.flat_map(batches).prefetch(4)

    def _windows(self, epochs: range, step: int) -> Iterator[tuple[int, int, int]]:
        """Epoch, window and the first step of it that is to be done, of every window with such a step."""
        for epoch in epochs:
            for window in np.random.default_rng([self.batching.seed, epoch]).permutation(len(self.of_window)):
                if step < self.of_window[window]:
                    yield epoch, int(window), step
                step = max(step - int(self.of_window[window]), 0)

    def _load(self, place: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """What the batches of a window are made of: its place, keys, cuts, rows and arrays."""
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
        """The batches of a window that are to be done."""
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
