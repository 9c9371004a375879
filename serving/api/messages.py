"""Information about a model as TF Serving's messages and as the JSON of its REST API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

from seqattn_tf.serving import protos
from seqattn_tf.serving.errors import CODES
from seqattn_tf.serving.models.repository import VersionStatus
from seqattn_tf.serving.models.servable import Servable

SIGNATURE_DEF = "signature_def"
ENGINE = "engine"  # in the metadata of versions that TensorFlow does not run


def status_message(versions: Iterable[VersionStatus]) -> protos.GetModelStatusResponse:
    """Return the response to GetModelStatus."""
    response = protos.GetModelStatusResponse()
    states = protos.ModelVersionStatus.State
    for status in versions:
        entry = response.model_version_status.add(version=status.version, state=states.Value(status.state))
        entry.status.error_code = CODES.index(status.error_code)
        entry.status.error_message = status.error_message
        if status.engine:
            entry.engine = status.engine
    return response


def metadata_message(servable: Servable) -> protos.GetModelMetadataResponse:
    """Return the response to GetModelMetadata: the signatures as exported, and the engine unless it is TensorFlow."""
    response = protos.GetModelMetadataResponse()
    response.model_spec.name = servable.name
    response.model_spec.version.value = servable.version
    signatures = protos.SignatureDefMap()
    for name, signature in servable.signature_defs.items():
        signatures.signature_def[name].CopyFrom(signature)
    response.metadata[SIGNATURE_DEF].Pack(signatures)
    if servable.engine:
        response.metadata[ENGINE].Pack(protos.StringValue(value=servable.engine))
    return response


def to_document(message: Message) -> dict[str, Any]:
    """Convert a message to the JSON of the REST API.

    It has the field names of the proto, explicit defaults, int64 as strings, and no type tags.
    """
    document = json_format.MessageToDict(
        message,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
        descriptor_pool=protos.POOL,
    )
    metadata = document.get("metadata", {})
    for name, packed in metadata.items():
        packed.pop("@type")
        if name == ENGINE:
            metadata[name] = packed["value"]
    return document
