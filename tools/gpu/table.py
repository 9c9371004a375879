"""The training data as arrays with a row for each example, and the plan of the batches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.training.data.batches import Order
from seqattn_tf.training.tasks import Training

_CHUNK = 1024  # examples that are encoded at a time


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


def tables(training: Training, lengths: Sequence[int], most_mib: int) -> list[np.ndarray]:
    """Return each tensor of a batch for all examples that are used, `[examples, ...]`, padded to these lengths.

    Raises:
        ValueError: If tensors have no fixed shape, contain texts, or would take more than ten times `most_mib`.
    """
    usable = training.rows
    longest = np.array([usable[column.lengths[usable].argmax()] for column in training.columns.all])
    found: list[np.ndarray] = []
    for start in range(0, len(usable), _CHUNK):
        rows = usable[start : start + _CHUNK]
        # The longest rows come first, so that all chunks are padded to the same lengths.
        batch = tf.nest.flatten(padded(training, np.concatenate([longest, rows]), lengths))
        chunk = [tensor.numpy()[len(longest) :] for tensor in batch]
        if not found:
            found = [_empty(len(usable), tensor, most_mib) for tensor in chunk]
        for table, tensor in zip(found, chunk, strict=True):
            if tensor.shape[1:] != table.shape[1:]:
                received = f"{table.shape[1:]} and {tensor.shape[1:]}"
                raise ValueError(f"recipe: expected texts, labels or inputs of one size. Received: sizes {received}")
            table[start : start + len(tensor)] = tensor
    return [narrow(table) for table in found]


def _empty(count: int, like: np.ndarray, most_mib: int) -> np.ndarray:
    if like.dtype.kind not in "biuf":
        raise ValueError(f"recipe: expected tensors of numbers. Received: {like.dtype}")
    size = like[:1].nbytes * count / 2**20
    if size > 10 * most_mib:
        received = f"{size:.0f} MiB of shape {list(like.shape[1:])} for {count} examples, before compression"
        raise ValueError(f"data: expected tensors of at most {10 * most_mib} MiB. Received: {received}")
    return np.zeros((count, *like.shape[1:]), like.dtype)


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
