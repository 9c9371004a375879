"""Processes on this machine, each with a separate copy of the model."""

import contextlib
import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection

from seqattn_tf.batch.plan import Job, Shard
from seqattn_tf.batch.shards import Answered
from seqattn_tf.batch.work import Answerer, limit_threads

_AHEAD = 2  # shards submitted per process: one in progress, one queued

_answerer: Answerer | Exception | None = None  # of the current process


def answered(job: Job, shards: Iterable[Shard], processes: int) -> Generator[Answered, None, None]:
    """Yield the results of shards in the order of their completion; without processes, run them in the current process.

    Raises:
        ChildProcessError: If a process was killed.
    """
    if not processes:
        yield from map(Answerer(job).answer, shards)
        return
    context = multiprocessing.get_context("spawn")
    watched, held = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(processes, context, _begin, (job, watched))
    waiting = iter(shards)
    try:
        with _ignoring_interrupts():
            running = {pool.submit(_answer, shard) for shard in itertools.islice(waiting, _AHEAD * processes)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(_answer, shard) for shard in itertools.islice(waiting, len(done))}
            for future in done:
                yield future.result()
    except BrokenProcessPool:
        held.close()
        raise ChildProcessError(
            "a worker process was killed, perhaps because it ran out of memory; try fewer --processes"
        ) from None
    except BaseException:
        held.close()  # ends running processes immediately
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        held.close()
        watched.close()


@contextlib.contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Ignore the keyboard inside the `with` block; processes that start in it ignore it from the beginning."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _begin(job: Job, watched: Connection) -> None:
    """Load the model; if that fails, the first shard raises the error."""
    global _answerer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # if it was not started in the main thread
    threading.Thread(target=_end_with, args=(watched,), daemon=True).start()
    try:
        limit_threads(job)
        _answerer = Answerer(job)
    except Exception as error:
        _answerer = error


def _end_with(watched: Connection) -> None:
    """Exit when the other end of the pipe is closed, either explicitly by the parent process or by its death."""
    watched.poll(None)
    os._exit(1)


def _answer(shard: Shard) -> Answered:
    if isinstance(_answerer, Answerer):
        return _answerer.answer(shard)
    raise _answerer or RuntimeError("expected a model. Received: None")
