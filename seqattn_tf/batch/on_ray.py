"""The processes of a Ray cluster: Ray Data distributes shards, manages a pool of models, and retries after failures.

Nodes read the input and the model from the same paths as this machine, such as a shared folder; their answers are
returned to this machine, which writes them.
"""

import logging
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from seqattn_tf.batch.plan import Job, Shard, Span
from seqattn_tf.batch.shards import Answered
from seqattn_tf.batch.work import Answerer, limit_threads
from seqattn_tf.core.ray_cluster import connected


class _Actor:
    """A model on a node."""

    def __init__(self, job: Job) -> None:
        limit_threads(job)
        self.answerer = Answerer(job)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return the part of one shard, as columns with one row."""
        [number], [spans] = batch["number"], batch["spans"]
        shard = Shard(int(number), tuple(Span(*map(int, span)) for span in spans))
        return {name: [value] for name, value in self.answerer.answer(shard)._asdict().items()}


def answered(
    job: Job, shards: Sequence[Shard], actors: int | None, address: str | None
) -> Generator[Answered, None, None]:
    """Yield the results of shards in the order of their completion.

    Args:
        job: The job.
        shards: The remaining shards.
        actors: The maximum number of models; by default one for each core of the cluster.
        address: The address of the cluster; by default `RAY_ADDRESS`, or a local cluster on this machine.

    Raises:
        ValueError: If Ray is not installed, or if there is no such cluster.
        ChildProcessError: If a node failed.
    """
    with connected(address) as ray:
        try:
            yield from _stream(ray, job, shards, actors)
        except ray.exceptions.RayError as error:
            lines = str(getattr(error, "cause", None) or error).strip().splitlines()
            raise ChildProcessError(f"Ray stopped ({lines[-1] if lines else type(error).__name__})") from error


def _stream(ray: Any, job: Job, shards: Sequence[Shard], actors: int | None) -> Iterator[Answered]:
    ray.data.DataContext.get_current().enable_progress_bars = False  # we show our own
    logging.getLogger("ray.data").setLevel(logging.WARNING)
    cores = int(ray.cluster_resources().get("CPU", 1))
    most = max(1, min(actors or cores // job.threads, len(shards)))
    rows = [{"number": shard.number, "spans": [list(span) for span in shard.spans]} for shard in shards]
    found = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
        _Actor,
        fn_constructor_args=(job,),
        batch_size=1,
        batch_format="numpy",
        concurrency=(1, most),
        num_cpus=job.threads,
    )
    for row in found.iter_rows():
        yield Answered(int(row["number"]), int(row["rows"]), row["part"], row["rejected"])
