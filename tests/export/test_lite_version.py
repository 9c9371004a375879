"""The required runtime of a LiteRT file: equal to that of TensorFlow's reader, and old enough for small boards."""

import struct
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from support.edge import FAMILIES, small
from support.slow import slow
from tensorflow.lite.tools import flatbuffer_utils

from seqattn_tf.export.forms.lite import Lite, convert
from seqattn_tf.export.lite_version import least_runtime
from seqattn_tf.lite.runtime import FILE

BOARDS = (2, 14)  # the last release of tflite-runtime
SLOW = ("a chain", "greedy", "turns", "a memory")  # slow families, whose ops are also covered by a beam search


def plain(function, *shape):
    """Convert a function of one tensor to a LiteRT file."""
    traced = tf.function(function, autograph=False).get_concrete_function(tf.TensorSpec(shape))
    return tf.lite.TFLiteConverter.from_concrete_functions([traced], tf.Module()).convert()


@pytest.fixture(scope="module")
def file():
    return plain(tf.cumsum, 3)


def by_tensorflow(file):
    model = flatbuffer_utils.convert_bytearray_to_object(bytearray(file))
    [entry] = [entry for entry in model.metadata if entry.name == b"min_runtime_version"]
    return bytes(model.buffers[entry.buffer].data).rstrip(b"\0").decode()


def changed(file, change):
    """Return the file with changed metadata, as TensorFlow writes it."""
    model = flatbuffer_utils.convert_bytearray_to_object(bytearray(file))
    change(model)
    return bytes(flatbuffer_utils.convert_object_to_bytearray(model))


def numbers(version):
    return tuple(map(int, version.split(".")[:2]))


def test_it_reads_what_tensorflow_reads(file, exported):
    ours = (exported / "models/pronounce/1" / Lite.place / FILE).read_bytes()
    files = plain(lambda x: x + 1, 3), file, ours, plain(lambda x: tf.pad(x > 0, [[1, 1]]), 3)
    found = [least_runtime(one) for one in files]
    assert found == [by_tensorflow(one) for one in files]
    assert len(set(found)) > 2
    assert numbers(found[2]) <= BOARDS < numbers(found[3])


@pytest.mark.parametrize("family", [slow(name) if name in SLOW else name for name in FAMILIES])
def test_every_family_runs_on_small_boards(family):
    assert numbers(least_runtime(convert(small(family)))) <= BOARDS


def test_a_broken_file_is_refused(file):
    whole = least_runtime(file)
    for size in range(len(file)):
        try:
            assert least_runtime(file[:size]) == whole  # the part that was cut off follows the version
        except ValueError as error:
            assert str(error).startswith("model: expected a ")  # noqa: PT017
    with pytest.raises(ValueError, match=r"model: expected a LiteRT file\. Received: 0 bytes of another format"):
        least_runtime(b"")
    with pytest.raises(ValueError, match=r"model: expected a LiteRT file\. Received: 10 bytes of another format"):
        least_runtime(b"PK\3\4 a zip")
    with pytest.raises(
        ValueError, match=r"model: expected a complete LiteRT file\. Received: an incomplete file of 40 bytes"
    ):
        least_runtime(file[:40])


def test_flipped_bytes_give_a_version_or_a_refusal(file):
    rng = np.random.default_rng(0)
    for place in rng.integers(8, len(file), 3000):
        broken = bytearray(file)
        broken[place] = rng.integers(256)
        try:
            numbers(least_runtime(bytes(broken)))
        except ValueError as error:
            assert str(error).startswith("model: expected a ")  # noqa: PT017


FIELDS = struct.pack("<9H2x", 18, 12, 0, 0, 0, 0, 4, 0, 8)  # the fields of the model: its buffers and its metadata


def by_hand(version, back=20):
    """Return the smallest file with a version, at its very end; `back` is the offset from the model to its fields."""
    model = struct.pack("<I4s", 28, b"TFL3") + FIELDS + struct.pack("<i2I", back, 60, 4)
    entry = struct.pack("<2I4Hi2I", 1, 12, 8, 12, 4, 8, 8, 8, 0) + struct.pack("<I20s", 19, b"min_runtime_version")
    buffer = struct.pack("<2I3H2xiI", 1, 12, 6, 8, 4, 8, 4)
    return model + entry + buffer + struct.pack("<I", len(version)) + version


def test_a_version_that_breaks_off_is_no_version():
    file = by_hand(b"1.14.0")
    assert least_runtime(file) == "1.14.0"
    for size in range(8, len(file)):
        with pytest.raises(ValueError, match=r"model: expected a "):
            least_runtime(file[:size])


def test_what_stands_before_the_beginning_is_not_looked_for_at_the_end():
    broken = by_hand(b"1.14.0", back=28 + len(FIELDS)) + FIELDS
    with pytest.raises(ValueError, match="model: expected a complete LiteRT file"):
        least_runtime(broken)


def test_a_file_that_does_not_say_is_refused(file):
    def silent(model):
        model.metadata = []

    def odd(model):
        [entry] = [entry for entry in model.metadata if entry.name == b"min_runtime_version"]
        model.buffers[entry.buffer].data = list(b"soon")

    with pytest.raises(ValueError, match=r"expected a LiteRT file with a min_runtime_version\. Received: nothing"):
        least_runtime(changed(file, silent))
    with pytest.raises(ValueError, match=r"expected a LiteRT file with a min_runtime_version\. Received: 'soon'"):
        least_runtime(changed(file, odd))


def test_neither_tensorflow_nor_an_interpreter_is_loaded():
    heavy = "{'tensorflow', 'numpy', 'ai_edge_litert'}"
    code = f"import sys, seqattn_tf.export.lite_version; print({heavy} & {{*sys.modules}})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
