"""A reader for weights saved by PyTorch that does not need PyTorch: its unpickler creates only dictionaries and arrays.

It reads the older file format: four pickles (a magic number, the version, system information, the dictionary of
tensors), a pickled list of the keys of the storages, and for each storage its size, a 64-bit integer, and its numbers.
"""

import collections
import io
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MAGIC = 0x1950A86A20F9469CFC6C
_TYPES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
}


class _Storage(NamedTuple):
    key: str
    dtype: np.dtype
    numbers: int


class _Tensor(NamedTuple):
    """The part of a storage that forms a tensor."""

    storage: _Storage
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def of(self, numbers: np.ndarray) -> np.ndarray:
        size = int(np.prod(self.shape, dtype=np.int64)) if self.shape else 1
        reach = self.start + sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
        if not self.start >= 0 or min((*self.shape, *self.strides), default=0) < 0 or size > len(numbers):
            raise ValueError(f"a tensor of shape {self.shape}")
        if size and reach >= len(numbers):
            raise ValueError(f"a tensor that exceeds the {len(numbers)} numbers of its storage")
        step = numbers.itemsize
        view = np.lib.stride_tricks.as_strided(
            numbers[self.start :], self.shape, [n * step for n in self.strides], writeable=False
        )
        return np.ascontiguousarray(view)


def _tensor(storage: Any, start: int, shape: tuple, strides: tuple, *_: Any) -> _Tensor:
    return _Tensor(storage, start, tuple(shape), tuple(strides))


class _Unpickler(pickle.Unpickler):
    """An unpickler that creates dictionaries and tensors and rejects everything else."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the class or function of a name that a file may contain."""
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in _TYPES:
            return np.dtype(_TYPES[name])
        raise pickle.UnpicklingError(f"{module}.{name}, which a weights file does not need")

    def persistent_load(self, saved: Any) -> _Storage:
        """Return the description of a storage."""
        kind, dtype, key, _, count, *_ = saved
        if kind != "storage" or not isinstance(dtype, np.dtype):
            raise pickle.UnpicklingError(f"{kind!r} instead of a storage")
        return _Storage(str(key), dtype, int(count))


def read_torch(path: str | Path) -> dict[str, np.ndarray]:
    """Return the tensors of a file by name.

    Raises:
        ValueError: If the file is damaged, has another format, or contains anything but tensors.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            return _read(file)
    except OSError as error:
        raise ValueError(f"{path}: expected a weights file. Received: {error}") from None
    except Exception as error:  # unpickling can raise any exception
        raise ValueError(f"{path}: expected weights saved by PyTorch. Received: {error}") from None


def _read(file: io.BufferedReader) -> dict[str, np.ndarray]:
    magic, _, _, named, keys = (_Unpickler(file).load() for _ in range(5))
    if magic != MAGIC:
        raise ValueError("a file of another format")
    tensors = {name: value for name, value in named.items() if isinstance(value, _Tensor)}
    types = {tensor.storage.key: tensor.storage for tensor in tensors.values()}
    storages = {}
    for key in keys:
        kind = types[str(key)]
        [count] = np.frombuffer(_exactly(file, 8), "<i8")
        if not 0 <= count == kind.numbers:
            raise ValueError(f"{count} numbers instead of the declared {kind.numbers}")
        storages[str(key)] = np.frombuffer(_exactly(file, int(count) * kind.dtype.itemsize), kind.dtype)
    return {name: tensor.of(storages[tensor.storage.key]) for name, tensor in tensors.items()}


def _exactly(file: io.BufferedReader, size: int) -> bytes:
    found = file.read(size)
    if len(found) != size:
        raise ValueError(f"a file that ends {size - len(found)} bytes early")
    return found
