"""Answers about a model, as TF Serving's messages and as the JSON of its REST API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message
from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2

from seqattn_tf.serving.errors import CODES
from seqattn_tf.serving.models.repository import VersionStatus
from seqattn_tf.serving.models.servable import Servable

SIGNATURE_DEF = "signature_def"


def status_message(versions: Iterable[VersionStatus]) -> get_model_status_pb2.GetModelStatusResponse:
    """The answer to GetModelStatus."""
    response = get_model_status_pb2.GetModelStatusResponse()
    states = get_model_status_pb2.ModelVersionStatus.State
    for status in versions:
        entry = response.model_version_status.add(version=status.version, state=states.Value(status.state))
        entry.status.error_code = CODES.index(status.error_code)
        entry.status.error_message = status.error_message
    return response


def metadata_message(servable: Servable) -> get_model_metadata_pb2.GetModelMetadataResponse:
    """The answer to GetModelMetadata: the signatures, exactly as exported."""
    response = get_model_metadata_pb2.GetModelMetadataResponse()
    response.model_spec.name = servable.name
    response.model_spec.version.value = servable.version
    signatures = get_model_metadata_pb2.SignatureDefMap()
    for name, signature in servable.signature_defs.items():
        signatures.signature_def[name].CopyFrom(signature)
    response.metadata[SIGNATURE_DEF].Pack(signatures)
    return response


def to_document(message: Message) -> dict[str, Any]:
    """A message as REST shows it: field names of the proto, defaults written, int64 as strings, no type tags."""
    document = json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    for packed in document.get("metadata", {}).values():
        packed.pop("@type")
    return document
