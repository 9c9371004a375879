"""Columns: one input or target of all examples, with their lengths, from which batches are gathered on demand."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

Rows = dict[str, tf.Tensor]


class Column:
    """A column of a table of examples. Subclasses define `gather`, or `rows` if their data is not in memory.

    Args:
        lengths: The lengths of the examples, `[examples]`, used to plan batches of similar examples.
        arrays: The arrays in memory, by name.

    Attributes:
        multiple: The rows of a batch are padded to a multiple of this number, which leads to fewer shapes for XLA to
            compile.
    """

    multiple = 1

    def __init__(self, lengths: np.ndarray, arrays: Mapping[str, np.ndarray]) -> None:
        self.lengths = np.asarray(lengths, np.int64)
        self.arrays = {name: tf.convert_to_tensor(array) for name, array in arrays.items()}

    def rows(self, indices: tf.Tensor) -> Rows:
        """Return the examples `[batch]` as tensors by name, padded to the longest of them. Runs in the graph."""
        return self.gather(self.arrays, indices)

    def round_up(self, multiple: int) -> None:
        """Set the multiple to which lengths are padded; 1 for no additional padding."""
        self.multiple = multiple

    def gather(self, arrays: Mapping[str, tf.Tensor], indices: tf.Tensor) -> Rows:
        """Return the examples `[batch]` of the given arrays, which may come from a file instead of this column."""
        raise self._elsewhere()

    def followed_by(self, other: "Column") -> "Column":
        """Return a column with the examples of this one followed by those of another."""
        raise self._elsewhere()

    def _elsewhere(self) -> ValueError:
        return ValueError(
            f"column: expected an in-memory column, such as texts or labels. Received: {type(self).__name__}"
        )


class DenseColumn(Column):
    """An in-memory column of arrays whose rows all have the same shape.

    >>> DenseColumn({"label": np.array([3, 1, 2])}).rows(tf.constant([2, 0]))["label"].numpy().tolist()
    [2, 3]
    """

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        super().__init__(np.zeros(len(next(iter(arrays.values()))), np.int64), arrays)

    def gather(self, arrays: Mapping[str, tf.Tensor], indices: tf.Tensor) -> Rows:
        return {name: tf.gather(array, indices) for name, array in arrays.items()}

    def followed_by(self, other: Column) -> "DenseColumn":
        return DenseColumn({name: np.concatenate([array, other.arrays[name]]) for name, array in self.arrays.items()})


class RaggedColumn(Column):
    """An in-memory column of sequences of numbers or of equally shaped arrays, of any length, stored without padding.

    Args:
        name: The name of the tensor.
        values: The values of all examples, concatenated along the first axis.
        starts: The start of each example in `values`, followed by the end of the last one.
        end: A number to append to every row of numbers; None for none.
        padding: The value to pad rows with.

    >>> column = RaggedColumn("ids", np.array([5, 6, 7]), np.array([0, 1, 3]), end=2)
    >>> column.rows(tf.constant([0, 1]))["ids"].numpy().tolist()
    [[5, 2, 0], [6, 7, 2]]
    >>> column.round_up(4)
    >>> column.rows(tf.constant([0]))["ids"].numpy().tolist()
    [[5, 2, 0, 0]]
    """

    def __init__(
        self, name: str, values: np.ndarray, starts: np.ndarray, end: int | None = None, padding: float = 0
    ) -> None:
        if end is not None and values.ndim > 1:
            raise ValueError(f"end: expected None for values with several axes. Received: {end}")
        one = np.full((1, *values.shape[1:]), padding, values.dtype)  # target of indices beyond the end of a row
        arrays = {"values": np.concatenate([values, one]), "starts": np.asarray(starts, np.int64)}
        super().__init__(np.diff(starts), arrays)
        self.name, self.end = name, end

    def gather(self, arrays: Mapping[str, tf.Tensor], indices: tf.Tensor) -> Rows:
        values = arrays["values"]
        starts, ends = (tf.gather(arrays["starts"], indices + more)[:, None] for more in (0, 1))
        sizes = ends - starts
        longest = tf.reduce_max(sizes) + (self.end is not None)
        places = tf.range(-(-longest // self.multiple) * self.multiple)[None]
        nothing = tf.shape(values, tf.int64)[0] - 1
        found = tf.gather(values, tf.where(places < sizes, starts + places, nothing))
        if self.end is not None:
            found = tf.where(places == sizes, tf.constant(self.end, found.dtype), found)
        return {self.name: found}

    def followed_by(self, other: Column) -> "RaggedColumn":
        (values, starts), (more, later) = ((one.arrays["values"], one.arrays["starts"]) for one in (self, other))
        joined = np.concatenate([starts, later[1:] + starts[-1]])
        padding = values[-1].numpy().ravel()[0]
        return RaggedColumn(self.name, np.concatenate([values[:-1], more[:-1]]), joined, self.end, padding)


class ColumnGroup(Column):
    """Several columns of the same examples as one, with the lengths of the first.

    >>> both = ColumnGroup([DenseColumn({"a": np.array([1, 2])}), DenseColumn({"b": np.array([3, 4])})])
    >>> {name: rows.numpy().tolist() for name, rows in both.rows(tf.constant([1])).items()}
    {'a': [2], 'b': [4]}
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        arrays = {f"{n}/{name}": array for n, column in enumerate(columns) for name, array in column.arrays.items()}
        super().__init__(columns[0].lengths, arrays)
        self.columns = list(columns)

    def round_up(self, multiple: int) -> None:
        for column in self.columns:
            column.round_up(multiple)

    def rows(self, indices: tf.Tensor) -> Rows:
        return {name: tensor for column in self.columns for name, tensor in column.rows(indices).items()}

    def gather(self, arrays: Mapping[str, tf.Tensor], indices: tf.Tensor) -> Rows:
        found: Rows = {}
        for number, column in enumerate(self.columns):
            own = {name: arrays[f"{number}/{name}"] for name in column.arrays}
            found |= column.gather(own, indices)
        return found


class LazyColumn(Column):
    """A column of raw values that are encoded when their batch is needed: bytes in memory, in files or in tar archives.

    Args:
        values: Strings, bytes, or objects with a method `read` that returns bytes.
        encode: A function from strings `[batch]` to tensors. Runs in the graph.

    >>> raw = LazyColumn([b"ab", "c"], lambda texts: {"length": tf.strings.length(texts)})
    >>> raw.rows(tf.constant([1, 0]))["length"].numpy().tolist()
    [1, 2]
    """

    def __init__(self, values: Sequence[Any], encode: Callable[[tf.Tensor], Rows]) -> None:
        super().__init__(np.zeros(len(values), np.int64), {})
        self.values, self.encode = values, encode

    def rows(self, indices: tf.Tensor) -> Rows:
        """Read the values of the examples `[batch]` and encode them."""
        raw = tf.numpy_function(self._read, [indices], tf.string, stateful=False)
        return self.encode(tf.ensure_shape(raw, [None]))

    def _read(self, indices: np.ndarray) -> np.ndarray:
        found = np.empty(len(indices), np.object_)
        found[:] = [_raw(self.values[index]) for index in indices]
        return found


def _raw(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    return value if isinstance(value, bytes) else value.read()
