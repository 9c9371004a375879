"""The rows of several requests as one batch, padded to a common length and to an allowed batch size.

As in TF Serving, shorter rows are padded with the first element of their own tensor, and outputs are not trimmed
(`pad_variable_length_inputs`); missing rows are copies of the first row of the last request.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def concat_and_pad(parts: Sequence[np.ndarray], fill: int = 0) -> np.ndarray:
    """Concatenate the rows of all parts and add `fill` more rows.

    >>> concat_and_pad([np.array([[1, 2]]), np.array([[3], [4]])], fill=1).tolist()
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
