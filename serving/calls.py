"""Functions of a SavedModel, called by name: a quarter of the time of a Python call, and they can be stopped.

`ConcreteFunction.__call__` binds arguments and rebuilds structures at every call, which costs more than a small model,
and its cancellation is one global variable. This goes to TensorFlow's own entry point, which has neither trouble.
"""

from __future__ import annotations

from collections.abc import Mapping

import tensorflow as tf
from tensorflow.python.eager import cancellation, context, execute  # no public way leads there

from seqattn_tf.serving.deadlines import Deadlines
from seqattn_tf.serving.errors import ServingError, from_exception

_DEADLINES = Deadlines()


class Call:
    """A function with named inputs and outputs.

    Args:
        function: what is called; flat inputs and outputs, in the order of the names.
        inputs: names of its inputs.
        outputs: names of its outputs.
    """

    def __init__(self, function: tf.types.experimental.ConcreteFunction, inputs: list[str], outputs: list[str]):
        if len(outputs) != len(function.outputs):
            raise ValueError(f"outputs: expected {len(function.outputs)} names. Received: {outputs}")
        self.function = function  # keeps it registered with TensorFlow
        self.inputs = inputs
        self.outputs = outputs
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

    def __call__(self, tensors: Mapping[str, tf.Tensor], timeout: float | None = None) -> dict[str, tf.Tensor]:
        """Runs on a tensor for each input, for at most `timeout` seconds.

        Raises:
            ServingError: DEADLINE_EXCEEDED, or what TensorFlow says.
        """
        if timeout is not None and timeout <= 0:
            raise _too_late()
        arguments = [tensors[alias] for alias in self.inputs] + self._captured
        name = self.function.name.decode()
        run = (name, len(self.outputs), arguments, self._attributes, context.context())
        stop = _Stop()
        try:
            if timeout is None:
                found = execute.execute(*run)
            else:
                with _DEADLINES.limit(timeout, stop.late):
                    found = execute.execute_with_cancellation(*run, stop.manager)
        except Exception as error:
            raise (_too_late() if stop.is_late else from_exception(error)) from error
        if stop.is_late:
            raise _too_late()
        return dict(zip(self.outputs, found, strict=True))


class _Stop:
    """Cancels a run when it is late. The manager alone does not tell why it was cancelled: a failing op does it too."""

    def __init__(self) -> None:
        self.manager = cancellation.CancellationManager()
        self.is_late = False

    def late(self) -> None:
        self.is_late = True
        self.manager.start_cancel()


def _too_late() -> ServingError:
    return ServingError("DEADLINE_EXCEEDED", "Timed out waiting for notification")
