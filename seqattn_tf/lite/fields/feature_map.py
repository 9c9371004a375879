"""A feature map of an image, computed in advance by a frozen backbone."""

from typing import Any

import numpy as np

from seqattn_tf.core.registry import check_count
from seqattn_tf.lite.fields.base import Field

NUMBER = np.dtype("<f2")  # the dtype of the bytes of a map


class Map(Field):
    """A feature map, as the bytes of half-precision numbers: row by row, with the channels of each cell.

    Args:
        rows, columns, channels: The size of the map.

    >>> field = Map(2, 2, 3)
    >>> field.arrays(np.ones([2, 2, 3], "float16").tobytes())["map"].shape
    (2, 2, 3)
    """

    name_in_registry = "map"
    widget = "map"

    def __init__(self, rows: int, columns: int, channels: int) -> None:
        self.rows, self.columns = check_count("rows", rows), check_count("columns", columns)
        self.channels = check_count("channels", channels)
        self.limit = rows * columns

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of a map."""
        return self.rows, self.columns, self.channels

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """Return the feature map `[rows, columns, channels]`."""
        data = self.raw(value)
        if len(data) != (size := int(np.prod(self.shape)) * NUMBER.itemsize):
            raise ValueError(f"expected the {size} bytes of a map of {self.shape}. Received: {len(data)}")
        return {"map": np.frombuffer(data, NUMBER).reshape(self.shape).astype(np.float32)}

    def sample_inputs(self, count: int, seed: int = 0) -> list[bytes]:
        """Return maps of noise."""
        generator = np.random.default_rng(seed)
        return [generator.normal(size=self.shape).astype(NUMBER).tobytes() for _ in range(count)]

    def get_config(self) -> dict[str, Any]:
        return {"rows": self.rows, "columns": self.columns, "channels": self.channels}
