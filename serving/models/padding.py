"""Rows of requests in one batch: put together, padded where their lengths differ, and filled up to an allowed size.

As in TF Serving, a row is padded up to the longest of its batch with the first element of the tensor it came in, and
outputs are not cut again (`pad_variable_length_inputs`); missing rows are copies of the first row of the last request.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def joined(parts: Sequence[np.ndarray], fill: int = 0) -> np.ndarray:
    """The rows of all parts, with so many more.

    >>> joined([np.array([[1, 2]]), np.array([[3], [4]])], fill=1).tolist()
    [[1, 2], [3, 3], [4, 3], [3, 3]]
    """
    sizes = np.max([part.shape[1:] for part in parts], axis=0)
    rows = [_padded(part, tuple(map(int, sizes))) for part in parts]
    if fill:
        rows.append(np.repeat(rows[-1][:1], fill, axis=0))
    return rows[0] if len(rows) == 1 else np.concatenate(rows)


def _padded(part: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    if part.shape[1:] == sizes:
        return part
    nothing = b"" if part.dtype.kind == "O" else 0
    padded = np.full((len(part), *sizes), part.flat[0] if part.size else nothing, part.dtype)
    padded[tuple(map(slice, part.shape))] = part
    return padded
