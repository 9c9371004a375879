"""How requests are brought together: TF Serving's batching parameters."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from seqattn_tf.serving.text_protos import read


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
        if sizes and (list(sizes) != sorted(set(sizes)) or sizes[0] < 1 or sizes[-1] != self.largest_run):
            raise ValueError(
                f"allowed_batch_sizes: expected rising sizes of which the last is {self.largest_run}. "
                f"Received: {list(sizes)}"
            )

    @property
    def largest_run(self) -> int:
        """The most rows that run at once."""
        return self.max_execution_batch_size or self.max_batch_size

    def run_size(self, rows: int) -> int:
        """How many rows run where so many are there.

        >>> BatchingParameters(max_batch_size=8, allowed_batch_sizes=(4, 8)).run_size(3)
        4
        """
        return next((size for size in self.allowed_batch_sizes if size >= rows), rows)

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
