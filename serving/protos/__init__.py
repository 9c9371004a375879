"""TensorFlow Serving's messages, without TensorFlow.

The package `tensorflow-serving-api` has the same messages, but it imports TensorFlow, which takes seconds and half a
gigabyte. The `.proto` files in this folder define them again, from the published fields, in a pool of their own; on the
wire, both are the same. Messages of both kinds can be read alike, but not assigned to each other's fields.

>>> from seqattn_tf.serving import protos
>>> request = protos.PredictRequest(model_spec=protos.ModelSpec(name="pronounce"))
>>> request.inputs["text"].dtype = protos.DataType.DT_STRING
"""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any

from google.protobuf import any_pb2, descriptor_pool, message_factory, wrappers_pb2

from seqattn_tf.serving.protos.parsing import parse_file

_FILES = ("error_codes.proto", "tensorflow.proto", "config.proto", "serving.proto")  # each after those that it imports


def _load(pool: descriptor_pool.DescriptorPool) -> dict[str, Any]:
    """Add the files to a pool, and return a class for each message and enum by its name."""
    for known in (any_pb2, wrappers_pb2):
        pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
    paths = [any_pb2.DESCRIPTOR.name, wrappers_pb2.DESCRIPTOR.name]
    for name in _FILES:
        paths.append(f"seqattn_tf/serving/protos/{name}")
        text = Path(__file__).with_name(name).read_text(encoding="utf-8")
        pool.AddSerializedFile(parse_file(paths[-1], text).SerializeToString())
    classes: dict[str, Any] = {}
    for file in map(pool.FindFileByName, paths):
        classes |= {key: message_factory.GetMessageClass(of) for key, of in file.message_types_by_name.items()}
        for key, of in file.enum_types_by_name.items():
            classes[key] = enum.IntEnum(key, {value.name: value.number for value in of.values})
    return classes


POOL = descriptor_pool.DescriptorPool()  # the definitions of all messages
_CLASSES = _load(POOL)


def __getattr__(name: str) -> Any:
    """Return the class of a message, or the enum, with this name."""
    if name in _CLASSES:
        return _CLASSES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
