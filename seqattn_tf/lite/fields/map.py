"""A map of a picture that a frozen backbone has made before."""

from typing import Any

import numpy as np

from seqattn_tf.core.registry import check_count
from seqattn_tf.lite.fields.base import Field

NUMBER = np.dtype("<f2")  # of a map in bytes


class Map(Field):
    """Numbers of the cells of a grid, as the bytes of half-precision numbers: row by row, the channels of each cell.

    Args:
        rows, columns, channels: how many there are.

    >>> field = Map(2, 2, 3)
    >>> field.arrays(np.ones([2, 2, 3], "float16").tobytes())["map"].shape
    (2, 2, 3)
    """

    name_in_registry = "map"
    kind = "map"

    def __init__(self, rows: int, columns: int, channels: int) -> None:
        self.rows, self.columns = check_count("rows", rows), check_count("columns", columns)
        self.channels = check_count("channels", channels)
        self.limit = rows * columns

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of a map."""
        return self.rows, self.columns, self.channels

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """The map itself."""
        data = self.raw(value)
        if len(data) != (size := int(np.prod(self.shape)) * NUMBER.itemsize):
            raise ValueError(f"expected the {size} bytes of a map of {self.shape}. Received: {len(data)}")
        return {"map": np.frombuffer(data, NUMBER).reshape(self.shape).astype(np.float32)}

    def made_up(self, count: int, seed: int = 0) -> list[bytes]:
        """Noise."""
        generator = np.random.default_rng(seed)
        return [generator.normal(size=self.shape).astype(NUMBER).tobytes() for _ in range(count)]

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {"rows": self.rows, "columns": self.columns, "channels": self.channels}
