"""Functions of a SavedModel, called by name: a quarter of the time of a Python call, and they can be stopped.

`ConcreteFunction.__call__` binds arguments and rebuilds structures at every call, which costs more than a small model,
and its cancellation is one global variable. This goes to TensorFlow's own entry point, which has neither trouble.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping

import tensorflow as tf
from tensorflow.python.eager import cancellation, context, execute  # no public way leads there

from seqattn_tf.serving.errors import ServingError, from_exception
from seqattn_tf.serving.models.deadlines import Deadlines

_DEADLINES = Deadlines()
Gone = Callable[[Callable[[], None]], object]  # calls back when the client has left


class Call:
    """A function with named inputs and outputs.

    Args:
        function: what is called; flat inputs and outputs, in the order of the names.
        inputs: names of its inputs.
        outputs: names of its outputs.
        first_alone: whether nobody else may run it before its first run has ended. That run prepares the graph, for
            half a second perhaps, and should do it once, not once for everyone who comes at the same time.
    """

    def __init__(
        self,
        function: tf.types.experimental.ConcreteFunction,
        inputs: list[str],
        outputs: list[str],
        first_alone: bool = True,
    ):
        if len(outputs) != len(function.outputs):
            raise ValueError(f"outputs: expected {len(function.outputs)} names. Received: {outputs}")
        self.function = function  # keeps it registered with TensorFlow
        self._name = function.name.decode()
        self.inputs = inputs
        self.outputs = outputs
        self._first = threading.Lock() if first_alone else None  # None once it has run
        self._captured = list(function.captured_inputs)
        options = context.context().function_call_options.as_attrs()
        self._attributes = tuple(part for pair in options.items() for part in pair)

    @property
    def tensors(self) -> list[tf.Tensor]:
        """The inputs as the graph declares them."""
        return self.function.inputs[: len(self.inputs)]

    @classmethod
    def of_signature(cls, signature: tf.types.experimental.ConcreteFunction) -> Call:
        """A call of a signature of a loaded SavedModel."""
        return cls(signature, list(signature._arg_keywords), sorted(signature.structured_outputs))

    def __call__(
        self, tensors: Mapping[str, tf.Tensor], timeout: float | None = None, gone: Gone | None = None
    ) -> dict[str, tf.Tensor]:
        """Runs on a tensor for each input, for at most `timeout` seconds and as long as the client is there.

        Raises:
            ServingError: DEADLINE_EXCEEDED, CANCELLED, or what TensorFlow says.
        """
        with _Stop(timeout, gone) as stop:
            first = self._first
            if first is None:
                return self._run(tensors, stop)
            with first:
                if self._first is not None:
                    outputs = self._run(tensors, stop)
                    self._first = None
                    return outputs
            return self._run(tensors, stop)

    def _run(self, tensors: Mapping[str, tf.Tensor], stop: _Stop) -> dict[str, tf.Tensor]:
        stop.check()
        arguments = [tensors[alias] for alias in self.inputs] + self._captured
        run = (self._name, len(self.outputs), arguments, self._attributes, context.context())
        try:
            found = execute.execute_with_cancellation(*run, stop.manager)
        except Exception as error:
            stop.check()
            raise from_exception(error) from error
        stop.check()
        return dict(zip(self.outputs, found, strict=True))


class _Stop:
    """Cancels a run when it is late or nobody waits for it.

    The manager alone does not tell why it was cancelled: an op that fails does it too.
    """

    def __init__(self, timeout: float | None, gone: Gone | None):
        self.manager = cancellation.CancellationManager()
        self._reason: ServingError | None = None
        self._limit = contextlib.nullcontext() if timeout is None else _DEADLINES.limit(timeout, self._late)
        if timeout is not None and timeout <= 0:
            self._late()
        if gone is not None:
            gone(self._left)

    def check(self) -> None:
        """Raises the reason to stop, if there is one."""
        if self._reason is not None:
            raise self._reason

    def _late(self) -> None:
        self._cancel("DEADLINE_EXCEEDED", "Timed out waiting for notification")

    def _left(self) -> None:
        self._cancel("CANCELLED", "the client has left")

    def _cancel(self, code: str, message: str) -> None:
        self._reason = ServingError(code, message)
        self.manager.start_cancel()

    def __enter__(self) -> _Stop:
        self._limit.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._limit.__exit__(*exception)
