"""TF Serving's configuration files whose messages its Python package lacks, read from their text form.

Each file is described here by its fields, and protobuf's own reader does the reading: comments, wrappers such as
`max_batch_size { value: 32 }`, repeated fields and errors with line numbers are all its work.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format, wrappers_pb2
from google.protobuf.message import Message

_FIELD = descriptor_pb2.FieldDescriptorProto
_TYPES = {
    "int64": (_FIELD.TYPE_INT64, None),
    "bool": (_FIELD.TYPE_BOOL, None),
    "string": (_FIELD.TYPE_STRING, None),
    "Int64Value": (_FIELD.TYPE_MESSAGE, ".google.protobuf.Int64Value"),
    "BoolValue": (_FIELD.TYPE_MESSAGE, ".google.protobuf.BoolValue"),
    "StringValue": (_FIELD.TYPE_MESSAGE, ".google.protobuf.StringValue"),
}
_MESSAGES = {
    "BatchingParameters": {
        "max_batch_size": "Int64Value",
        "batch_timeout_micros": "Int64Value",
        "max_enqueued_batches": "Int64Value",
        "num_batch_threads": "Int64Value",
        "thread_pool_name": "StringValue",
        "allowed_batch_sizes": "repeated int64",
        "pad_variable_length_inputs": "bool",
        "enable_large_batch_splitting": "BoolValue",
        "max_execution_batch_size": "Int64Value",
    },
    "PrometheusConfig": {"enable": "bool", "path": "string"},
    "MonitoringConfig": {"prometheus_config": "PrometheusConfig"},
    "SSLConfig": {"server_key": "string", "server_cert": "string", "custom_ca": "string", "client_verify": "bool"},
}


def _build() -> dict[str, type[Message]]:
    file = descriptor_pb2.FileDescriptorProto(
        name="seqattn_tf/serving/text_protos.proto",
        package="tensorflow.serving",
        syntax="proto3",
        dependency=[wrappers_pb2.DESCRIPTOR.name],
    )
    for message, fields in _MESSAGES.items():
        entry = file.message_type.add(name=message)
        for number, (name, kind) in enumerate(fields.items(), 1):
            label = _FIELD.LABEL_REPEATED if kind.startswith("repeated ") else _FIELD.LABEL_OPTIONAL
            kind = kind.removeprefix("repeated ")
            number_of_type, type_name = _TYPES.get(kind, (_FIELD.TYPE_MESSAGE, f".tensorflow.serving.{kind}"))
            entry.field.add(name=name, number=number, label=label, type=number_of_type, type_name=type_name)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tensorflow.serving.{name}"))
        for name in _MESSAGES
    }


_CLASSES = _build()


def read(path: Path, message: str | Message, flag: str) -> Any:
    """The message in a file; which fields it has is known only here.

    Args:
        path: the file.
        message: an empty one to read into, or a name: BatchingParameters, MonitoringConfig or SSLConfig.
        flag: the flag that named the file, for the error.

    Raises:
        ValueError: the file is not there or does not hold such a message.
    """
    wanted = _CLASSES[message]() if isinstance(message, str) else message
    try:
        return text_format.Parse(path.read_text(encoding="utf-8"), wanted)
    except OSError as error:
        name = wanted.DESCRIPTOR.name
        raise ValueError(f"{flag}: expected a file with {name} in text form. Received: {path} ({error})") from error
    except (UnicodeDecodeError, text_format.ParseError) as error:  # in the words by which TF Serving's users know it
        name = wanted.DESCRIPTOR.full_name
        raise ValueError(f"{flag}: Error parsing text-format {name}: {error}. Received: {path}") from error
