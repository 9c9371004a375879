"""TF Serving's REST API as a function from request to reply; sockets are in `http_server`."""

from __future__ import annotations

import logging
import re
from urllib.parse import unquote

from seqattn_tf.serving import DEFAULT_SIGNATURE
from seqattn_tf.serving.errors import ServingError, from_exception
from seqattn_tf.serving.http_server import Reply, Request
from seqattn_tf.serving.json_codec import (
    decode_inputs,
    encode_document,
    encode_outputs,
    parse_document,
    read_signature_name,
)
from seqattn_tf.serving.messages import metadata_message, status_message, to_document
from seqattn_tf.serving.repository import MAX_VERSION, ModelRepository
from seqattn_tf.serving.servable import Servable, type_name

LOG = logging.getLogger(__name__)
_MODEL = r"/v1/models(?:/(?P<name>[^/:]+))?(?:/versions/(?P<version>\d+))?"
_FLAGS = re.IGNORECASE | re.ASCII


class RestApi:
    """Answers requests from a repository of models.

    Args:
        repository: where the models are.
    """

    def __init__(self, repository: ModelRepository):
        self._repository = repository
        self._routes = (
            ("POST", re.compile(_MODEL + ":predict", _FLAGS), self._predict),
            ("GET", re.compile(_MODEL, _FLAGS), self._status),
            ("GET", re.compile(_MODEL + "/metadata", _FLAGS), self._metadata),
        )

    def handle(self, request: Request) -> Reply:
        """The answer to a request; never raises."""
        try:
            return Reply(200, self._answer(request.method, request.path, request.body))
        except ServingError as error:
            return error_reply(error)
        except Exception as error:
            LOG.exception("a request failed for a reason of the server's own")
            return error_reply(from_exception(error))

    def _answer(self, method: str, path: str, body: bytes) -> bytes:
        if not path.lower().startswith("/v1/"):
            raise ServingError("NOT_FOUND", f"Not Found: expected a path under /v1/. Received: {path}")
        for verb, pattern, answer in self._routes:
            match = pattern.fullmatch(path) if verb == method else None
            if match:
                if match["name"] is None:
                    raise ServingError("INVALID_ARGUMENT", "Missing model name in request.")
                return answer(unquote(match["name"]), _version(match["version"]), body)
        raise ServingError("INVALID_ARGUMENT", f"Malformed request: {method} {path}")

    def _predict(self, name: str, version: int | None, body: bytes) -> bytes:
        # The body is read before the model is looked up: bad JSON is 400 even where there is no such model.
        document = parse_document(body)
        signature_name = read_signature_name(document)
        servable = self._repository.get(name, version)
        row, inputs = decode_inputs(document, _input_types(servable, signature_name))
        outputs = servable.predict(signature_name, inputs)
        return encode_outputs({alias: tensor.numpy() for alias, tensor in outputs.items()}, row)

    def _status(self, name: str, version: int | None, body: bytes) -> bytes:
        return encode_document(to_document(status_message(self._repository.status(name, version))))

    def _metadata(self, name: str, version: int | None, body: bytes) -> bytes:
        return encode_document(to_document(metadata_message(self._repository.get(name, version))))


def error_reply(error: ServingError) -> Reply:
    """The JSON that carries an error, under its status."""
    return Reply(error.http_status, encode_document({"error": error.message}))


def _version(digits: str | None) -> int | None:
    if digits is None:
        return None
    if len(digits.lstrip("0")) > len(str(MAX_VERSION)) or int(digits) > MAX_VERSION:
        raise ServingError("INVALID_ARGUMENT", f"Failed to convert version: {digits} to numeric.")
    return int(digits)


def _input_types(servable: Servable, signature_name: str) -> dict[str, str]:
    signature = servable.signature_defs.get(signature_name or DEFAULT_SIGNATURE)
    if signature is None:
        raise ServingError(
            "INVALID_ARGUMENT",
            f'Serving signature name: "{signature_name or DEFAULT_SIGNATURE}" not found in signature def',
        )
    if not signature.inputs:
        raise ServingError("INVALID_ARGUMENT", f"Failed to get input map for signature: {signature_name or 'DEFAULT'}")
    return {alias: type_name(info.dtype) for alias, info in signature.inputs.items()}
