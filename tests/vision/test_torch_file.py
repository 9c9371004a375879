"""Weights in PyTorch's file format: read without PyTorch, and without executing anything in such a file."""

import collections
import io
import pickle
import struct
import sys
import types

import numpy as np
import pytest

from seqattn_tf.vision.torch_file import MAGIC, read_torch


class FloatStorage: ...


class LongStorage: ...


FloatStorage.__module__ = LongStorage.__module__ = "torch"


def _rebuild_tensor_v2(*parts):
    return parts


_rebuild_tensor_v2.__module__ = "torch._utils"


class Storage:
    def __init__(self, kind, key, numbers):
        self.kind, self.key, self.numbers = kind, key, numbers


class Tensor:
    def __init__(self, storage, start, shape, strides):
        self.parts = storage, start, shape, strides, False, collections.OrderedDict()

    def __reduce__(self):
        return _rebuild_tensor_v2, self.parts


class Pickler(pickle.Pickler):
    def persistent_id(self, made):
        if isinstance(made, Storage):
            return "storage", made.kind, made.key, "cpu", len(made.numbers), None
        return None


@pytest.fixture
def write(tmp_path, monkeypatch):
    """A function that writes the older format, with stand-ins for PyTorch's classes."""
    torch = types.ModuleType("torch")
    torch.FloatStorage, torch.LongStorage = FloatStorage, LongStorage
    torch._utils = types.ModuleType("torch._utils")
    torch._utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", torch._utils)

    def written(tensors, storages, magic=MAGIC, cut=0, counts=None):
        data = io.BytesIO()
        for head in (magic, 1001, {"little_endian": True}):
            pickle.dump(head, data, protocol=2)
        Pickler(data, protocol=2).dump(tensors)
        pickle.dump([storage.key for storage in storages], data, protocol=2)
        for number, storage in enumerate(storages):
            data.write(struct.pack("<q", len(storage.numbers) if counts is None else counts[number]))
            data.write(storage.numbers.tobytes())
        path = tmp_path / "weights.pth"
        path.write_bytes(data.getvalue()[: -cut or None])
        return path

    return written


def made():
    one = Storage(FloatStorage, "7", np.arange(12, dtype="<f4"))
    two = Storage(LongStorage, "9", np.array([5, 6], "<i8"))
    named = collections.OrderedDict(
        whole=Tensor(one, 0, (3, 4), (4, 1)),
        turned=Tensor(one, 1, (2, 3), (1, 4)),
        scalar=Tensor(two, 1, (), ()),
        empty=Tensor(two, 0, (0, 2), (2, 1)),
    )
    return named, [one, two]


def test_tensors_come_back_as_they_are_laid_out(write):
    found = read_torch(write(*made()))
    numbers = np.arange(12, dtype="float32").reshape(3, 4)
    np.testing.assert_array_equal(found["whole"], numbers)
    np.testing.assert_array_equal(found["turned"], numbers[:, 1:3].T)
    assert (found["scalar"], found["scalar"].dtype, found["empty"].shape) == (6, np.int64, (0, 2))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"magic": 1}, "a file of another format"),
        ({"cut": 3}, "ends 3 bytes early"),
        ({"counts": [11, 2]}, "11 numbers instead of the declared 12"),
        ({"counts": [-1, 2]}, "-1 numbers instead of the declared 12"),
    ],
)
def test_a_broken_file_is_refused(write, changes, message):
    with pytest.raises(ValueError, match=message):
        read_torch(write(*made(), **changes))


@pytest.mark.parametrize(
    "place",
    [
        (0, (4, 4), (4, 1)),
        (11, (2,), (1,)),
        (-1, (2,), (1,)),
        (0, (2,), (-1,)),
        (0, (13,), (0,)),
        (0, (1 << 40,), (0,)),
    ],
)
def test_a_tensor_outside_its_storage_is_refused(write, place):
    _, storages = made()
    with pytest.raises(ValueError, match="Received: a tensor"):
        read_torch(write({"bad": Tensor(storages[0], *place)}, storages[:1]))


class Harmful:
    def __reduce__(self):
        return print, ("harm",)


def test_nothing_but_tensors_is_made_of_a_file(write, capsys, tmp_path):
    _, storages = made()
    with pytest.raises(ValueError, match="print, which a weights file does not need"):
        read_torch(write({"bad": Harmful()}, storages))
    (tmp_path / "head.pth").write_bytes(pickle.dumps(Harmful()))
    with pytest.raises(ValueError, match="which a weights file does not need"):
        read_torch(tmp_path / "head.pth")
    assert not capsys.readouterr().out
    with pytest.raises(ValueError, match="expected a weights file"):
        read_torch(tmp_path / "none.pth")
