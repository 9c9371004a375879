"""The training data as arrays with a row for each example, and the plan of the batches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.training.data.batches import Order
from seqattn_tf.training.tasks import Training

_CHUNK = 256  # examples that are encoded at a time
_SAMPLE = 16  # examples whose sizes are compared


def check_supported(training: Training) -> None:
    """Raise an error for a training whose batches are not rows of a table, all of the same number."""
    if type(training).batches is not Training.batches:
        received = f"{type(training.task).__name__}, which reads segments of a long text"
        raise ValueError(f"recipe: expected batches of separate examples. Received: {received}")
    if not isinstance(training.order, Order):
        raise ValueError("stream: expected training data in memory. Received: data on disk; use --set stream=never")
    if training.settings.batch_tokens:
        raise ValueError(
            f"batch_tokens: expected 0, for batches of one size. Received: {training.settings.batch_tokens}"
        )


def plan(training: Training) -> np.ndarray:
    """Return the indices of the examples of every batch as `fit` gets them, `[epochs, steps, batch]`."""
    epochs = training.settings.epochs
    found = np.stack(list(training.order.planned_rows(range(epochs)).as_numpy_iterator()))
    return found.reshape(epochs, training.steps, -1)


def lengths_of(training: Training, rows: np.ndarray) -> np.ndarray:
    """Return the length that each batch `[..., batch]` needs in every column, `[..., columns]`; 0 if it is fixed."""
    return np.stack([_padded_lengths(column, training.rows)[rows].max(axis=-1) for column in training.columns.all], -1)


def _padded_lengths(column: Any, usable: np.ndarray) -> np.ndarray:
    """Return the length that each example takes in a batch, including an end symbol."""
    lengths = column.lengths
    longest = usable[lengths[usable].argmax()]
    if not lengths[longest]:
        return lengths
    width = max(tensor.shape[1] for tensor in column.rows(tf.constant([longest])).values() if tensor.shape.rank > 1)
    return lengths + (width - lengths[longest])


def padded(training: Training, rows: np.ndarray, lengths: Sequence[int]) -> Any:
    """Return a batch as `fit` gets it, with the rows of each column padded to these lengths."""
    for column, length in zip(training.columns.all, lengths, strict=True):
        column.round_up(int(length))
    try:
        return training.columns.batch(tf.constant(rows, tf.int64))
    finally:
        for column in training.columns.all:
            column.round_up(1)


def tables(training: Training, lengths: Sequence[int], most_mib: int) -> list["Table"]:
    """Return each tensor of a batch for all examples that are used, padded to these lengths.

    Raises:
        ValueError: If a tensor has no fixed shape, or would take more than ten times `most_mib`.
    """
    usable = training.rows
    longest = np.array([usable[column.lengths[usable].argmax()] for column in training.columns.all])
    _check_sizes(training)
    found: list[Table] = []
    for start in range(0, len(usable), _CHUNK):
        rows = usable[start : start + _CHUNK]
        # The longest rows come first, so that all chunks are padded to the same lengths.
        batch = tf.nest.flatten(padded(training, np.concatenate([longest, rows]), lengths))
        chunk = [tensor.numpy()[len(longest) :] for tensor in batch]
        found = found or [Table(len(usable), tensor, 10 * most_mib) for tensor in chunk]
        for table, tensor in zip(found, chunk, strict=True):
            table.fill(start, tensor)
    return found


def _check_sizes(training: Training) -> None:
    """Check that inputs without a length, such as images, all have one size."""
    some = np.random.default_rng(0).choice(training.rows, min(_SAMPLE, len(training.rows)), replace=False)
    for column in training.columns.all:
        if not column.lengths[training.rows].any():
            sizes = {str([list(t.shape[1:]) for t in column.rows(tf.constant([row])).values()]) for row in some}
            if len(sizes) > 1:
                received = " and ".join(sorted(sizes)[:2])
                raise ValueError(f"recipe: expected texts, labels or inputs of one size. Received: sizes {received}")


class Table:
    """A tensor of a batch for all examples, `[examples, ...]`.

    Floats with at most 256 different values, such as those of pictures, are stored as indices of these values.

    Args:
        count: The number of examples.
        like: The tensor of some examples.
        most_mib: The maximum MiB in memory.

    >>> table = Table(3, np.zeros([2, 2], "float32"), 1)
    >>> table.fill(0, np.array([[0.5, 0.0], [0.5, 0.25]], "float32"))
    >>> table.fill(2, np.array([[0.0, 0.75]], "float32"))
    >>> table.rows(np.array([2, 1])).tolist(), table.values.dtype.name
    ([[0.0, 0.75], [0.5, 0.25]], 'uint8')
    """

    def __init__(self, count: int, like: np.ndarray, most_mib: int) -> None:
        if like.dtype.kind not in "biuf":
            raise ValueError(f"recipe: expected tensors of numbers. Received: {like.dtype}")
        self.most_mib = most_mib
        self.palette = np.zeros(1, like.dtype) if like.dtype.kind == "f" else None
        self.values = self._checked((count, *like.shape[1:]), np.uint8 if self.palette is not None else like.dtype)

    def _checked(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize / 2**20
        if size > self.most_mib:
            received = f"{size:.0f} MiB, {shape[0]} examples of shape {list(shape[1:])}"
            raise ValueError(f"data: expected tensors of at most {self.most_mib} MiB in memory. Received: {received}")
        return np.zeros(shape, dtype)

    def fill(self, start: int, rows: np.ndarray) -> None:
        """Store the rows of some examples."""
        if self.palette is not None:
            palette = np.union1d(self.palette, rows)
            if len(palette) > 256:
                whole = self._checked(self.values.shape, rows.dtype)
                whole[:start] = self.palette[self.values[:start]]
                self.values, self.palette = whole, None
            else:
                if len(palette) > len(self.palette):
                    self.values = np.searchsorted(palette, self.palette).astype(np.uint8)[self.values]
                self.palette, rows = palette, np.searchsorted(palette, rows)
        self.values[start : start + len(rows)] = rows

    def rows(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows of some examples."""
        found = self.values[rows]
        return found if self.palette is None else self.palette[found]

    def arrays(self, number: int) -> dict[str, np.ndarray]:
        """Return the arrays to store, by names that contain a number."""
        palette = {} if self.palette is None else {f"palette{number:03d}": self.palette}
        return {f"table{number:03d}": narrow(self.values), **palette}


def narrow(table: np.ndarray) -> np.ndarray:
    """Convert integers to the smallest type that fits them.

    >>> narrow(np.array([0, 255])).dtype.name, narrow(np.array([-1, 200])).dtype.name
    ('uint8', 'int16')
    """
    if table.dtype.kind not in "iu" or not table.size:
        return table
    return table.astype(np.result_type(np.min_scalar_type(int(table.min())), np.min_scalar_type(int(table.max()))))


def check_rows(training: Training, rows: np.ndarray, lengths: Sequence[int], from_tables: Sequence[np.ndarray]) -> Any:
    """Return a batch as `fit` gets it, after a check that the tables contain the same numbers."""
    batch = padded(training, rows, lengths)
    for number, (tensor, other) in enumerate(zip(tf.nest.flatten(batch), from_tables, strict=True)):
        if not np.array_equal(tensor.numpy(), other[(slice(None), *map(slice, tensor.shape[1:]))]):
            expected = "recipe: expected inputs that are independent of the rest of their batch"
            raise ValueError(f"{expected}. Received: tensor {number} of shape {tensor.shape} differs")
    return batch
