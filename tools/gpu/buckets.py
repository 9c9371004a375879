"""The few shapes that batches are padded to, because XLA compiles a program for every shape."""

from collections.abc import Sequence

import numpy as np

MULTIPLE = 8  # as for steps that XLA compiles in `seqattn train --xla on`


def choose(lengths: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Choose the shapes that batches are padded to.

    Lengths are rounded up to a multiple of 8. If that leaves too many shapes, the two whose union adds the fewest
    padded positions are merged, until there are few enough.

    Args:
        lengths: The longest row of each batch in every column, `[batches, columns]`.
        most: The maximum number of shapes.

    Returns:
        The lengths of each shape, `[shapes, columns]`, and the index of the shape of each batch, `[batches]`.

    >>> shapes, of_batch = choose(np.array([[3, 9], [7, 12], [17, 2]]), most=2)
    >>> shapes.tolist(), of_batch.tolist()
    ([[8, 16], [24, 8]], [0, 0, 1])
    """
    if most < 1:
        raise ValueError(f"buckets: expected at least 1. Received: {most}")
    rounded = np.maximum(-(-lengths // MULTIPLE), 1) * MULTIPLE
    shapes, of_batch, counts = np.unique(rounded, axis=0, return_inverse=True, return_counts=True)
    groups = [[index] for index in range(len(shapes))]
    while len(groups) > most:
        first, second = _closest(shapes, counts, groups)
        groups[first] += groups.pop(second)
    merged = np.array([shapes[group].max(axis=0) for group in groups]).reshape(len(groups), lengths.shape[1])
    group_of = np.zeros(len(shapes), np.int64)
    for number, group in enumerate(groups):
        group_of[group] = number
    return merged, group_of[of_batch.ravel()]


def _closest(shapes: np.ndarray, counts: np.ndarray, groups: Sequence[list[int]]) -> tuple[int, int]:
    """Return the indices of the two groups whose union adds the fewest padded positions; the first is smaller."""
    tops = np.array([shapes[group].max(axis=0) for group in groups])
    sizes = np.array([counts[group].sum() for group in groups])
    joined = np.maximum(tops[:, None], tops[None]).sum(axis=-1)
    own = tops.sum(axis=-1)
    added = sizes[:, None] * (joined - own[:, None]) + sizes[None] * (joined - own[None])
    added[np.tril_indices(len(groups))] = np.iinfo(added.dtype).max
    first, second = np.unravel_index(int(added.argmin()), added.shape)
    return int(first), int(second)
