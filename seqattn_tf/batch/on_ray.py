"""The processes of a Ray cluster: Ray Data hands out shards, keeps a pool of models, and repeats what a node lost.

Nodes read the input and the model at the paths that they have here, as from a shared folder; what they answer comes
back, and is written here.
"""

import logging
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from seqattn_tf.batch.plan import Job, Shard, Span
from seqattn_tf.batch.shards import Answered
from seqattn_tf.batch.work import Answerer, limit_threads


class Actor:
    """A model on a node."""

    def __init__(self, job: Job) -> None:
        limit_threads(job.threads)
        self.answerer = Answerer(job)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The part of one shard, in columns of one row."""
        [number], [spans] = batch["number"], batch["spans"]
        shard = Shard(int(number), tuple(Span(*map(int, span)) for span in spans))
        return {name: [value] for name, value in self.answerer.answer(shard)._asdict().items()}


def answered(
    job: Job, shards: Sequence[Shard], actors: int | None, address: str | None
) -> Generator[Answered, None, None]:
    """The shards as they are done, in any order.

    Args:
        job: what to do.
        shards: what is left of it.
        actors: how many models at the most; one for each core of the cluster by default.
        address: of the cluster; `RAY_ADDRESS`, or one of this machine alone, by default.

    Raises:
        ValueError: Ray is not installed, or there is no such cluster.
        ChildProcessError: a node could not go on.
    """
    ray = _import_ray()
    joined = ray.is_initialized()
    if not joined:
        try:
            ray.init(address=address, log_to_driver=False, logging_level="warning")
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise ValueError(f"address: expected that of a Ray cluster. Received: {address!r}, {error}") from None
    try:
        yield from _stream(ray, job, shards, actors)
    except ray.exceptions.RayError as error:
        said = str(getattr(error, "cause", None) or error).strip().splitlines()
        raise ChildProcessError(f"Ray could not go on ({said[-1] if said else type(error).__name__})") from error
    finally:
        if not joined:
            ray.shutdown()


def _stream(ray: Any, job: Job, shards: Sequence[Shard], actors: int | None) -> Iterator[Answered]:
    ray.data.DataContext.get_current().enable_progress_bars = False  # there is ours
    logging.getLogger("ray.data").setLevel(logging.WARNING)
    cores = int(ray.cluster_resources().get("CPU", 1))
    most = max(1, min(actors or cores // job.threads, len(shards)))
    rows = [{"number": shard.number, "spans": [list(span) for span in shard.spans]} for shard in shards]
    found = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
        Actor,
        fn_constructor_args=(job,),
        batch_size=1,
        batch_format="numpy",
        concurrency=(1, most),
        num_cpus=job.threads,
    )
    for row in found.iter_rows():
        yield Answered(int(row["number"]), int(row["rows"]), row["part"], row["rejected"])


def _import_ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError:
        raise ValueError("engine: expected Ray Data. Received: none; pip install 'seqattn-tf[ray]'") from None
    return ray
