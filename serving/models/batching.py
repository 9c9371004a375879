"""TF Serving's batching parameters."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from seqattn_tf.serving.protos import BatchingParameters as BatchingMessage
from seqattn_tf.serving.text_protos import read


@dataclass(frozen=True)
class BatchingParameters:
    """TF Serving's batching parameters, with its defaults."""

    max_batch_size: int = 1000  # maximum rows of a batch, and of a request unless it may be split
    batch_timeout_micros: int = 0  # how long a batch waits for more rows
    max_enqueued_batches: int = 10  # if a queue is full, requests fail with UNAVAILABLE
    num_batch_threads: int = 0  # batches that run at once, of all models together; 0 for one per core
    allowed_batch_sizes: tuple[int, ...] = ()  # a batch is padded to the next of these sizes
    enable_large_batch_splitting: bool = False
    max_execution_batch_size: int = 0  # with splitting, maximum rows of one run; 0 for `max_batch_size`
    pad_variable_length_inputs: bool = False  # whether to combine requests of different lengths; see `padding`
    thread_pool_name: str = "batch_threads"  # a label of metrics

    def __post_init__(self) -> None:
        sizes = self.allowed_batch_sizes
        if self.max_batch_size < 1 or self.max_enqueued_batches < 1:
            raise ValueError(f"max_batch_size, max_enqueued_batches: expected at least 1. Received: {self}")
        if self.batch_timeout_micros < 0 or self.num_batch_threads < 0:
            raise ValueError(f"batch_timeout_micros, num_batch_threads: expected nonnegative numbers. Received: {self}")
        if self.max_execution_batch_size and not self.enable_large_batch_splitting:
            raise ValueError("max_execution_batch_size: expected enable_large_batch_splitting: true. Received: false")
        if self.max_execution_batch_size > self.max_batch_size:
            raise ValueError(
                f"max_execution_batch_size: expected at most max_batch_size. Received: {self.max_execution_batch_size}"
            )
        if sizes and (list(sizes) != sorted(set(sizes)) or sizes[0] < 1 or sizes[-1] != self.largest_run):
            raise ValueError(
                f"allowed_batch_sizes: expected increasing sizes that end with {self.largest_run}. "
                f"Received: {list(sizes)}"
            )

    @property
    def largest_run(self) -> int:
        """The maximum number of rows that run at once."""
        return self.max_execution_batch_size or self.max_batch_size

    def run_size(self, rows: int) -> int:
        """Return the size of a run for the given number of rows: the next allowed batch size.

        >>> BatchingParameters(max_batch_size=8, allowed_batch_sizes=(4, 8)).run_size(3)
        4
        """
        return next((size for size in self.allowed_batch_sizes if size >= rows), rows)

    @classmethod
    def from_file(cls, path: Path) -> BatchingParameters:
        """Read TF Serving's `--batching_parameters_file`."""
        message = read(path, BatchingMessage(), "batching_parameters_file")
        values = {
            "allowed_batch_sizes": tuple(message.allowed_batch_sizes),
            "pad_variable_length_inputs": message.pad_variable_length_inputs,
        }
        for field in fields(cls):
            if field.name not in values and message.HasField(field.name):
                values[field.name] = getattr(message, field.name).value
        return cls(**values)
