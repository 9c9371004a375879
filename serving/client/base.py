"""The base class of both clients, with one deadline for a whole call and retries while the server is unavailable."""

from __future__ import annotations

import abc
import contextlib
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.model_inputs import as_rows, columns
from seqattn_tf.serving import DEFAULT_SIGNATURE
from seqattn_tf.serving.errors import ServingError

_FIRST_WAIT, _LONGEST_WAIT = 0.05, 2.0  # seconds; upper bounds of the first wait between two attempts, and of any wait
Result = TypeVar("Result")


@dataclass(frozen=True)
class ModelVersion:
    """A version of a model: the newest one, or one given by its number or label."""

    model: str
    version: int | None = None
    label: str = ""

    def __post_init__(self) -> None:
        if self.label and self.version is not None:
            raise ValueError(f"version, label: expected at most one of them. Received: {self.version}, {self.label!r}")


@dataclass(frozen=True)
class ClientOptions:
    """The options of a client: its time limit, its number of retries and its credentials."""

    timeout: float = 60.0  # seconds for a call with all its attempts
    retries: int = 3  # while the server is UNAVAILABLE: overloaded, restarting or not started yet
    token: str = ""  # a bearer token
    ca_file: str | Path | None = None  # certificates that are trusted in addition to the system's

    def __post_init__(self) -> None:
        if self.timeout <= 0 or self.retries < 0:
            raise ValueError(
                "timeout, retries: expected a timeout above 0 and at least 0 retries. "
                f"Received: {self.timeout}, {self.retries}"
            )


class Client(abc.ABC):
    """A client of a model server: ours or TF Serving. Thread-safe.

    Args:
        address: The address, `host:port`.
        options: The options of the client.
    """

    def __init__(self, address: str, options: ClientOptions):
        self.address = address
        self.options = options
        self._input_names: dict[ModelVersion, list[str]] = {}

    def answer(self, model: str, rows: Sequence[Any], version: int | None = None, label: str = "") -> list[Answer]:
        """Return the answer of a seqattn model to each row, with its attention maps.

        Args:
            model: The name of the model on the server.
            rows: Mappings from the name of an input to a string, bytes or a list of strings (the lines of one text), or
                just values if the model has one input.
            version: The version of the model; the newest by default.
            label: The label of a version, instead of its number.

        Raises:
            ServingError: If the request fails, with the server's code and message.
            ValueError: If the rows do not fit the inputs of the model, or its outputs are not those of a seqattn model.
        """
        asked, rows = ModelVersion(model, version, label), as_rows(rows)
        outputs = self._persist(lambda left: self._answer(asked, rows, left)) if rows else {}
        return [Answer.from_outputs(outputs, row) for row in range(len(rows))]

    def inputs(self, model: str) -> list[str]:
        """Return the names of the inputs of a model's default signature, in alphabetical order."""
        return self._persist(lambda left: self._names(ModelVersion(model), left))

    def predict(
        self,
        model: str,
        inputs: Mapping[str, Sequence[Any] | np.ndarray],
        version: int | None = None,
        signature_name: str = DEFAULT_SIGNATURE,
        label: str = "",
    ) -> dict[str, np.ndarray]:
        """Run a signature on named inputs.

        Returns:
            One array for each output. Strings are `str`, or `bytes` if the name of the output ends in `_bytes`.

        Raises:
            ServingError: If the request fails, with the server's code and message; UNAVAILABLE if there is no server.
        """
        asked = ModelVersion(model, version, label)
        return self._persist(lambda left: self._predict(asked, inputs, signature_name, left))

    def status(self, model: str) -> dict[str, Any]:
        """Return the versions of a model and their states, in the form of the REST API."""
        return self._persist(lambda left: self._status(ModelVersion(model), left))

    def metadata(self, model: str) -> dict[str, Any]:
        """Return the signatures of a model, in the form of the REST API."""
        return self._persist(lambda left: self._metadata(ModelVersion(model), left))

    def _persist(self, attempt: Callable[[float], Result]) -> Result:
        """Repeat an attempt until it succeeds, or no attempts or time are left. Requests are pure, so this is safe."""
        end = time.monotonic() + self.options.timeout
        for failures in range(self.options.retries + 1):
            try:
                return attempt(max(end - time.monotonic(), 0.001))
            except ServingError as error:
                longest = min(_FIRST_WAIT * 2**failures, _LONGEST_WAIT)
                wait = random.uniform(0, longest)  # spreads the retries of clients that failed at the same time
                out_of_time = time.monotonic() + wait >= end
                if error.code != "UNAVAILABLE" or failures == self.options.retries or out_of_time:
                    raise
            time.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _answer(self, asked: ModelVersion, rows: list[Any], timeout: float) -> dict[str, np.ndarray]:
        """Make one attempt at `answer`."""
        end = time.monotonic() + timeout
        inputs = self._columns(asked, rows, timeout)
        try:
            return self._predict(asked, inputs, DEFAULT_SIGNATURE, max(end - time.monotonic(), 0.001))
        except ServingError:
            self._input_names.pop(asked, None)  # a new version may have different inputs
            raise

    def _columns(self, asked: ModelVersion, rows: list[Any], timeout: float) -> dict[str, list[str | bytes]]:
        """Return the rows as columns with the names of the model's inputs, which are requested from the server once."""
        with contextlib.suppress(KeyError, ValueError):  # rows that do not fit may fit a newer version
            return columns(rows, self._input_names[asked])
        names = self._names(asked, timeout)
        if not names:
            return {}  # the server will then return a suitable error
        self._input_names[asked] = names
        return columns(rows, names)

    def _names(self, asked: ModelVersion, timeout: float) -> list[str]:
        signatures = self._metadata(asked, timeout)["metadata"]["signature_def"]["signature_def"]
        return sorted(signatures.get(DEFAULT_SIGNATURE, {}).get("inputs", {}))

    @abc.abstractmethod
    def close(self) -> None:
        """Close open connections."""

    @abc.abstractmethod
    def _predict(self, asked: ModelVersion, inputs: Mapping[str, Any], signature_name: str, timeout: float) -> dict:
        """Make one attempt at `predict`."""

    @abc.abstractmethod
    def _status(self, asked: ModelVersion, timeout: float) -> dict[str, Any]:
        """Make one attempt at `status`."""

    @abc.abstractmethod
    def _metadata(self, asked: ModelVersion, timeout: float) -> dict[str, Any]:
        """Make one attempt at `metadata`."""
