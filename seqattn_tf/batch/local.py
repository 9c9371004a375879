"""Processes of this machine, each with a model of its own."""

import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection

from seqattn_tf.batch.plan import Job, Shard
from seqattn_tf.batch.shards import Answered
from seqattn_tf.batch.work import Answerer, limit_threads

_AHEAD = 2  # shards that are with each process: one at work, one waiting

_answerer: Answerer | Exception | None = None  # of a process


def answered(job: Job, shards: Iterable[Shard], processes: int) -> Generator[Answered, None, None]:
    """The shards as they are done, in any order; with no processes, one after the other in this one.

    Raises:
        ChildProcessError: a process was killed.
    """
    if not processes:
        yield from map(Answerer(job).answer, shards)
        return
    context = multiprocessing.get_context("spawn")
    watched, held = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(processes, context, _begin, (job, watched))
    waiting = iter(shards)
    try:
        running = {pool.submit(_answer, shard) for shard in itertools.islice(waiting, _AHEAD * processes)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(_answer, shard) for shard in itertools.islice(waiting, len(done))}
            for future in done:
                yield future.result()
    except BrokenProcessPool:
        held.close()
        raise ChildProcessError("a process was killed, perhaps for want of memory (fewer --processes?)") from None
    except BaseException:
        held.close()  # what is at work ends at once
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        held.close()
        watched.close()


def _begin(job: Job, watched: Connection) -> None:
    """Load the model; what is wrong with it is said by the first shard."""
    global _answerer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who reads the keyboard tells us
    threading.Thread(target=_end_with, args=(watched,), daemon=True).start()
    try:
        limit_threads(job.threads)
        _answerer = Answerer(job)
    except Exception as error:
        _answerer = error


def _end_with(watched: Connection) -> None:
    """End when the other end of the pipe is closed: by a process that has no more use for us, or by its death."""
    watched.poll(None)
    os._exit(1)


def _answer(shard: Shard) -> Answered:
    if isinstance(_answerer, Answerer):
        return _answerer.answer(shard)
    raise _answerer or RuntimeError("expected a model. Received: none")
