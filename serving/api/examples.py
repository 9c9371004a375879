"""The `tf.Example`s of classify and regress requests: from JSON to TF Serving's `Input`, and from there to tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seqattn_tf.serving.api.json_values import is_base64, json_type, read_bytes, read_float, shown
from seqattn_tf.serving.errors import ServingError, invalid
from seqattn_tf.serving.protos import Example, Feature, Input

_COPIED = 1 << 28  # limit in bytes for the context times the number of examples, because each one gets a copy
_INT64 = range(-(2**63), 2**63)
_UINT64 = range(2**64)
_KINDS = {"bytes_list": "bytes", "float_list": "float", "int64_list": "int64"}


def input_from_json(document: Mapping[str, Any]) -> Input:
    """Return the examples of a classify or regress body and their shared context.

    >>> request = input_from_json({"context": {"lang": "en"}, "examples": [{"x": [1.0, 2.5]}, {"x": 3.0}]})
    >>> list(request.example_list_with_context.examples[1].features.feature["x"].float_list.value)
    [3.0]

    Raises:
        ServingError: If the body is invalid, with TF Serving's message.
    """
    request = Input()
    holder: Any = request.example_list
    if "context" in document:
        holder = request.example_list_with_context
        holder.context.CopyFrom(_example(document["context"]))
    if "examples" not in document:
        # TF Serving's message contains "classify" even for regress requests.
        raise _misformed(document, "When method is classify, key 'examples' is expected and was not found")
    if not isinstance(document["examples"], list):
        raise _misformed(document, "Expecting 'examples' value to be an list/array")
    if not document["examples"]:
        raise _misformed(document, "'examples' value is an empty array")
    holder.examples.extend(_example(value) for value in document["examples"])
    return request


def serialized_examples(request: Input) -> list[bytes]:
    """Serialize each example with the context merged in, using the fact that concatenated messages form one message."""
    kind = request.WhichOneof("kind")
    holder = getattr(request, kind) if kind else None
    if holder is None or not holder.examples:
        raise invalid("Input is empty.")
    context = holder.context.SerializeToString() if kind == "example_list_with_context" else b""
    if len(context) * len(holder.examples) > _COPIED:
        size = f"{len(context)} bytes for {len(holder.examples)} examples"
        raise invalid(f"context: expected at most {_COPIED} bytes, copied for each example. Received: {size}")
    return [context + example.SerializeToString() for example in holder.examples]


def _example(value: Any) -> Example:
    if not isinstance(value, dict):
        raise invalid(f"Example must be JSON object but got JSON {json_type(value)}")
    example = Example()
    for name, content in getattr(value, "last", value).items():
        feature = example.features.feature[name.encode("utf-8", "replace").decode()]  # protobuf requires UTF-8
        for element in content if isinstance(content, list) else [content]:
            _add(element, name, feature)
    return example


def _add(value: Any, name: str, feature: Feature) -> None:
    """Add an element to a feature; the first element determines the kind of the feature."""
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
    """Return the kind of list for a JSON value. As in TF Serving's parser, integers beyond 64 bits are floats."""
    if isinstance(value, str) or is_base64(value):
        return "bytes_list"
    if isinstance(value, int):  # booleans count as 0 and 1
        return "int64_list" if value in _INT64 or value in _UINT64 else "float_list"
    return "float_list" if isinstance(value, float) else None


def _misformed(document: Mapping[str, Any], fault: str) -> ServingError:
    return invalid(f"JSON Value: {shown(document)} {fault}")
