"""`tf.Example`s of classify and regress requests: from JSON to TF Serving's `Input`, and from there to tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorflow.core.example import example_pb2, feature_pb2
from tensorflow_serving.apis import input_pb2

from seqattn_tf.serving.api.json_values import is_base64, json_type, read_bytes, read_float, shown
from seqattn_tf.serving.errors import ServingError, invalid

_COPIED = 1 << 28  # bytes of a context, which every example gets a copy of
_INT64 = range(-(2**63), 2**63)
_UINT64 = range(2**64)
_KINDS = {"bytes_list": "bytes", "float_list": "float", "int64_list": "int64"}


def input_from_json(document: Mapping[str, Any]) -> input_pb2.Input:
    """The examples of a classify or regress body, and the context that they share.

    >>> request = input_from_json({"context": {"lang": "en"}, "examples": [{"x": [1.0, 2.5]}, {"x": 3.0}]})
    >>> list(request.example_list_with_context.examples[1].features.feature["x"].float_list.value)
    [3.0]

    Raises:
        ServingError: with TF Serving's message.
    """
    request = input_pb2.Input()
    holder: Any = request.example_list
    if "context" in document:
        holder = request.example_list_with_context
        holder.context.CopyFrom(_example(document["context"]))
    if "examples" not in document:
        # TF Serving says "classify" for regress too.
        raise _misformed(document, "When method is classify, key 'examples' is expected and was not found")
    if not isinstance(document["examples"], list):
        raise _misformed(document, "Expecting 'examples' value to be an list/array")
    if not document["examples"]:
        raise _misformed(document, "'examples' value is an empty array")
    holder.examples.extend(_example(value) for value in document["examples"])
    return request


def serialized_examples(request: input_pb2.Input) -> list[bytes]:
    """Each example as bytes, its context merged in: bytes of messages that follow each other are one message."""
    kind = request.WhichOneof("kind")
    holder = getattr(request, kind) if kind else None
    if holder is None or not holder.examples:
        raise invalid("Input is empty.")
    context = holder.context.SerializeToString() if kind == "example_list_with_context" else b""
    if len(context) * len(holder.examples) > _COPIED:
        size = f"{len(context)} bytes for {len(holder.examples)} examples"
        raise invalid(f"context: expected at most {_COPIED} bytes, copied for each example. Received: {size}")
    return [context + example.SerializeToString() for example in holder.examples]


def _example(value: Any) -> example_pb2.Example:
    if not isinstance(value, dict):
        raise invalid(f"Example must be JSON object but got JSON {json_type(value)}")
    example = example_pb2.Example()
    for name, content in getattr(value, "last", value).items():
        feature = example.features.feature[name.encode("utf-8", "replace").decode()]  # protobuf takes UTF-8 only
        for element in content if isinstance(content, list) else [content]:
            _add(element, name, feature)
    return example


def _add(value: Any, name: str, feature: feature_pb2.Feature) -> None:
    """Adds an element to a feature, whose kind is that of its first element."""
    kind = _kind(value)
    if kind is None:
        raise invalid(f"Feature: {name} has element with unexpected JSON type: {json_type(value)}")
    present = feature.WhichOneof("kind")
    if present not in (None, kind):
        raise invalid(f"Unexpected element type in feature: {name} expecting type: {_KINDS[present]}")
    if kind == "bytes_list":
        feature.bytes_list.value.append(read_bytes(value))
    elif kind == "float_list":
        feature.float_list.value.append(read_float(value, "float"))
    elif value not in _INT64:
        raise invalid(f"Feature: {name} has uint64_t element. Only int64_t is supported.")
    else:
        feature.int64_list.value.append(int(value))


def _kind(value: Any) -> str | None:
    """The list that holds a JSON value; integers beyond 64 bits are decimals, as they are for TF Serving's parser."""
    if isinstance(value, str) or is_base64(value):
        return "bytes_list"
    if isinstance(value, int):  # booleans are 0 and 1
        return "int64_list" if value in _INT64 or value in _UINT64 else "float_list"
    return "float_list" if isinstance(value, float) else None


def _misformed(document: Mapping[str, Any], fault: str) -> ServingError:
    return invalid(f"JSON Value: {shown(document)} {fault}")
