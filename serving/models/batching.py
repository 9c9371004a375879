"""Requests that arrive together run together, on TensorFlow's own batching op and with TF Serving's parameters."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, fields
from pathlib import Path

import tensorflow as tf

from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.models.calls import Call
from seqattn_tf.serving.models.padding import packed, padded
from seqattn_tf.serving.text_protos import read

_NAMES = itertools.count()


@dataclass(frozen=True)
class BatchingParameters:
    """TF Serving's batching parameters, with its defaults."""

    max_batch_size: int = 1000  # rows of a batch, and of a request unless it may be split
    batch_timeout_micros: int = 0  # how long a batch waits for more rows
    max_enqueued_batches: int = 10  # a request that finds as many is UNAVAILABLE
    num_batch_threads: int = 0  # batches that run at once, of all models together; 0 for one a core
    allowed_batch_sizes: tuple[int, ...] = ()  # a batch is filled up to the next of them
    enable_large_batch_splitting: bool = False
    max_execution_batch_size: int = 0  # with splitting, rows that run at once; 0 for `max_batch_size`
    pad_variable_length_inputs: bool = False  # bring requests of unequal lengths together; see `padding`

    def __post_init__(self) -> None:
        sizes = self.allowed_batch_sizes
        largest = self.max_execution_batch_size or self.max_batch_size
        if self.max_batch_size < 1 or self.max_enqueued_batches < 1:
            raise ValueError(f"max_batch_size, max_enqueued_batches: expected at least 1. Received: {self}")
        if self.batch_timeout_micros < 0 or self.num_batch_threads < 0:
            raise ValueError(f"batch_timeout_micros, num_batch_threads: expected no negative number. Received: {self}")
        if self.max_execution_batch_size and not self.enable_large_batch_splitting:
            raise ValueError("max_execution_batch_size: expected enable_large_batch_splitting with it. Received: false")
        if self.max_execution_batch_size > self.max_batch_size:
            raise ValueError(
                f"max_execution_batch_size: expected at most max_batch_size. Received: {self.max_execution_batch_size}"
            )
        if sizes and (list(sizes) != sorted(set(sizes)) or sizes[0] < 1 or sizes[-1] != largest):
            raise ValueError(
                f"allowed_batch_sizes: expected rising sizes of which the last is {largest}. Received: {list(sizes)}"
            )

    @classmethod
    def from_file(cls, path: Path) -> BatchingParameters:
        """Reads TF Serving's `--batching_parameters_file`."""
        message = read(path, "BatchingParameters", "batching_parameters_file")
        values = {
            "allowed_batch_sizes": tuple(message.allowed_batch_sizes),
            "pad_variable_length_inputs": message.pad_variable_length_inputs,
        }
        for field in fields(cls):
            if field.name not in values and message.HasField(field.name):
                values[field.name] = getattr(message, field.name).value
        return cls(**values)


class Batcher:
    """One pool of batching threads, and a queue in it for every signature that is served.

    Args:
        parameters: sizes and times.
    """

    def __init__(self, parameters: BatchingParameters):
        self.parameters = parameters
        self._pool = f"seqattn-batching-{next(_NAMES)}"

    def check(self, rows: int) -> None:
        """Refuses a request that no batch can hold, in the words of TensorFlow's scheduler."""
        if rows > self.parameters.max_batch_size:
            raise ServingError(
                "INVALID_ARGUMENT",
                f"Task size {rows} is larger than maximum input batch size {self.parameters.max_batch_size}",
            )

    def batched(self, call: Call) -> Call:
        """The same call, made together with others that come at the same time.

        Every input has its rows first, and so has every output.
        """
        parameters, queue = self.parameters, f"queue-{next(_NAMES)}"
        sizes = list(parameters.allowed_batch_sizes)
        if not sizes and parameters.max_execution_batch_size:
            sizes = list(range(1, parameters.max_execution_batch_size + 1))  # the op's way to say it
        function, specs = call.function, [tf.TensorSpec(None, tensor.dtype) for tensor in call.tensors]
        prepare = list
        if parameters.pad_variable_length_inputs and all(tensor.shape.rank for tensor in call.tensors):
            function, specs = padded(call)
            prepare = packed

        @tf.function(input_signature=specs, autograph=False)
        def together(*tensors: tf.Tensor) -> list[tf.Tensor]:
            return tf.raw_ops.BatchFunction(
                in_tensors=prepare(tensors),
                captured_tensors=function.captured_inputs,
                f=function,
                Tout=[tensor.dtype for tensor in function.outputs],
                num_batch_threads=parameters.num_batch_threads or os.cpu_count() or 1,
                max_batch_size=parameters.max_batch_size,
                batch_timeout_micros=parameters.batch_timeout_micros,
                max_enqueued_batches=parameters.max_enqueued_batches,
                allowed_batch_sizes=sizes,
                enable_large_batch_splitting=parameters.enable_large_batch_splitting,
                container=self._pool,
                shared_name=self._pool,
                batching_queue=queue,
            )

        # Whoever runs it first waits for others to come.
        return Call(together.get_concrete_function(), call.inputs, call.outputs, first_alone=False)
