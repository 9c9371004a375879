"""What both clients share: one deadline for a whole call, another try where none was answered, answers as `Answer`."""

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

_FIRST_WAIT, _LONGEST_WAIT = 0.05, 2.0  # seconds between two tries, at most, before and after doubling
Result = TypeVar("Result")


@dataclass(frozen=True)
class ModelVersion:
    """Which version of which model is meant: the newest, or one by number or label."""

    model: str
    version: int | None = None
    label: str = ""

    def __post_init__(self) -> None:
        if self.label and self.version is not None:
            raise ValueError(f"version, label: expected one of them. Received: {self.version}, {self.label!r}")


@dataclass(frozen=True)
class ClientOptions:
    """How a client asks: how long it waits in all, how often it tries again, and who it is."""

    timeout: float = 60.0  # seconds, of a call with all its tries
    retries: int = 3  # when the server is UNAVAILABLE: full, restarting, or not there yet
    token: str = ""  # a bearer token
    ca_file: Path | None = None  # whose certificates are trusted, beside those that always are

    def __post_init__(self) -> None:
        if self.timeout <= 0 or self.retries < 0:
            raise ValueError(
                f"timeout, retries: expected above 0, at least 0. Received: {self.timeout}, {self.retries}"
            )


class Client(abc.ABC):
    """Asks a model server: ours or TF Serving itself. Safe in threads.

    Args:
        address: `host:port`.
        options: how it asks.
    """

    def __init__(self, address: str, options: ClientOptions):
        self.address = address
        self.options = options
        self._input_names: dict[ModelVersion, list[str]] = {}

    def answer(self, model: str, rows: Sequence[Any], version: int | None = None, label: str = "") -> list[Answer]:
        """What a model of ours says to each row, with the looks that led to it.

        Args:
            model: its name on the server.
            rows: mappings from the name of an input to a string, bytes or a list of strings (one text with a line for
                each); or bare values, where the model has one input.
            version: the newest unless given.
            label: instead of a version.

        Raises:
            ServingError: with the server's code and message.
            ValueError: the rows do not fit the inputs of the model, or it answers with something else.
        """
        asked, rows = ModelVersion(model, version, label), as_rows(rows)
        outputs = self._persist(lambda left: self._answer(asked, rows, left)) if rows else {}
        return [Answer.from_outputs(outputs, row) for row in range(len(rows))]

    def inputs(self, model: str) -> list[str]:
        """The names of what a model takes under its default signature, in the order of the alphabet."""
        return self._persist(lambda left: self._names(ModelVersion(model), left))

    def predict(
        self,
        model: str,
        inputs: Mapping[str, Sequence[Any] | np.ndarray],
        version: int | None = None,
        signature_name: str = DEFAULT_SIGNATURE,
        label: str = "",
    ) -> dict[str, np.ndarray]:
        """Runs a signature on named inputs.

        Returns:
            One array for each output. Strings are `str`, or `bytes` where the output's name ends in `_bytes`.

        Raises:
            ServingError: with the server's code and message, or UNAVAILABLE when there is no server.
        """
        asked = ModelVersion(model, version, label)
        return self._persist(lambda left: self._predict(asked, inputs, signature_name, left))

    def status(self, model: str) -> dict[str, Any]:
        """The versions of a model and their states, in the form of the REST API."""
        return self._persist(lambda left: self._status(ModelVersion(model), left))

    def metadata(self, model: str) -> dict[str, Any]:
        """The signatures of a model, in the form of the REST API."""
        return self._persist(lambda left: self._metadata(ModelVersion(model), left))

    def _persist(self, attempt: Callable[[float], Result]) -> Result:
        """Tries until there is an answer or no try or time is left. Requests are pure: asking again is safe."""
        end = time.monotonic() + self.options.timeout
        for failures in range(self.options.retries + 1):
            try:
                return attempt(max(end - time.monotonic(), 0.001))
            except ServingError as error:
                longest = min(_FIRST_WAIT * 2**failures, _LONGEST_WAIT)
                wait = random.uniform(0, longest)  # clients that failed together do not come back together
                out_of_time = time.monotonic() + wait >= end
                if error.code != "UNAVAILABLE" or failures == self.options.retries or out_of_time:
                    raise
            time.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _answer(self, asked: ModelVersion, rows: list[Any], timeout: float) -> dict[str, np.ndarray]:
        """One try of `answer`."""
        end = time.monotonic() + timeout
        inputs = self._columns(asked, rows, timeout)
        try:
            return self._predict(asked, inputs, DEFAULT_SIGNATURE, max(end - time.monotonic(), 0.001))
        except ServingError:
            self._input_names.pop(asked, None)  # a version with other inputs may have come in
            raise

    def _columns(self, asked: ModelVersion, rows: list[Any], timeout: float) -> dict[str, list[str | bytes]]:
        """The rows by the names of the model's inputs, which the server is asked for once."""
        with contextlib.suppress(KeyError, ValueError):  # where they do not fit, they may fit a newer version
            return columns(rows, self._input_names[asked])
        names = self._names(asked, timeout)
        if not names:
            return {}  # the server has the right words for this
        self._input_names[asked] = names
        return columns(rows, names)

    def _names(self, asked: ModelVersion, timeout: float) -> list[str]:
        signatures = self._metadata(asked, timeout)["metadata"]["signature_def"]["signature_def"]
        return sorted(signatures.get(DEFAULT_SIGNATURE, {}).get("inputs", {}))

    @abc.abstractmethod
    def close(self) -> None:
        """Closes what is kept open."""

    @abc.abstractmethod
    def _predict(self, asked: ModelVersion, inputs: Mapping[str, Any], signature_name: str, timeout: float) -> dict:
        """One try of `predict`."""

    @abc.abstractmethod
    def _status(self, asked: ModelVersion, timeout: float) -> dict[str, Any]:
        """One try of `status`."""

    @abc.abstractmethod
    def _metadata(self, asked: ModelVersion, timeout: float) -> dict[str, Any]:
        """One try of `metadata`."""
