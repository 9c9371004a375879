"""A SavedModel in a session, with the same restore procedure, graph and runtime as in TensorFlow Serving.

`tf.saved_model.load` rebuilds a model in Python. It accepts requests that TensorFlow Serving rejects, rejects shapes
that TensorFlow Serving accepts, and costs several times as much per call. A session avoids this, and it also runs
models of TensorFlow 1. Its limitation: it cannot stop a run when the client disconnects; the run finishes or
reaches its deadline.
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers the text ops that exported graphs contain
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import pywrap_tf_session  # this costs a sixth of `Session.run`
from tensorflow.python.saved_model import loader_impl

from seqattn_tf.export.meta_graph import ops_of
from seqattn_tf.export.versions import is_saved_model
from seqattn_tf.serving.config import ServerConfig
from seqattn_tf.serving.errors import ServingError, deadline_exceeded, from_exception, invalid
from seqattn_tf.serving.models.engine import Arrays
from seqattn_tf.serving.protos import SignatureDef
from seqattn_tf.serving.text_protos import read

QUICK_SECONDS = 0.002  # after a faster run in TensorFlow's threads, the calling thread is tried
CHEAP_SECONDS = 0.0005  # CPU time; only faster runs stay in the calling thread
FIRST_SECONDS = 1.0  # how long others wait for the first run, which prepares the graph
# A run with one of these ops may take any time, even for small inputs.
_LOOPS = frozenset({"While", "StatelessWhile", "For", "LoopCond", "MapDefun"})


class SessionEngine:
    """A SavedModel that is restored and ready to run.

    Args:
        path: The folder of `saved_model.pb`.
        config: The configuration of the session, such as threads and memory.
        tags: The tags of the graph to load.

    Raises:
        ServingError: If there is no SavedModel, it is broken, or it has no graph with these tags.
        tf.errors.OpError: If TensorFlow cannot restore it.
    """

    name = ""  # replies are those of TF Serving, which names no engine

    def __init__(
        self,
        path: Path,
        config: config_pb2.ConfigProto | None = None,
        tags: Sequence[str] = (tf.saved_model.SERVING,),
    ):
        loader = _loader(path, tags)
        # Without a config, the session would move ops that are pinned to another device to a CPU, unlike in TF Serving.
        session = tf.compat.v1.Session(graph=tf.Graph(), config=config or config_pb2.ConfigProto())
        weakref.finalize(self, session.close).atexit = False
        try:
            loaded = loader.load(session, tags)
        except ValueError:  # the C++ loader would assume a model without weights and fail when they are read
            raise ServingError("DATA_LOSS", "expected complete weights in variables/. Received: none") from None
        self.signature_defs = {
            key: SignatureDef.FromString(signature.SerializeToString())
            for key, signature in loaded.signature_def.items()
        }
        self._session = session
        self._may_run_here = not ops_of(loaded.graph_def) & _LOOPS
        self._runs: dict[tuple[str, tuple[str, ...]], _Run] = {}
        self._lock = threading.Lock()
        # The key of the run that computes all outputs of each signature.
        self._whole = {key: (key, tuple(sorted(of.outputs))) for key, of in self.signature_defs.items()}

    def run(
        self, signature_name: str, inputs: Arrays, outputs: Sequence[str], timeout: float | None
    ) -> dict[str, np.ndarray]:
        key = (signature_name, tuple(sorted(outputs)))
        run = self._runs.get(key) or self._make(*key)
        return run(inputs, timeout)

    def quick_run(self, signature_name: str, inputs: Arrays) -> Callable[[], dict[str, np.ndarray]] | None:
        run = self._runs.get(self._whole[signature_name])
        return None if run is None else run.quick(inputs)

    def _make(self, signature_name: str, outputs: tuple[str, ...]) -> _Run:
        signature = self.signature_defs[signature_name]
        with self._lock:  # concurrent callers must wait for the same first run
            key = (signature_name, outputs)
            if key not in self._runs:
                self._runs[key] = _Run(self._session, signature, outputs, self._may_run_here)
            return self._runs[key]


def session_config(config: ServerConfig) -> config_pb2.ConfigProto:
    """Return the configuration of the sessions of a server: the file if there is one, otherwise the flags."""
    if config.tensorflow_session_config_file is not None:
        return read(config.tensorflow_session_config_file, config_pb2.ConfigProto(), "tensorflow_session_config_file")
    wanted = config_pb2.ConfigProto(
        intra_op_parallelism_threads=config.tensorflow_intra_op_parallelism,
        inter_op_parallelism_threads=config.tensorflow_inter_op_parallelism,
    )
    wanted.gpu_options.per_process_gpu_memory_fraction = config.per_process_gpu_memory_fraction
    return wanted


class _Run:
    """A function that runs one signature with fixed outputs.

    TensorFlow's threads observe a deadline, but the calling thread cannot. It therefore runs only requests that should
    be fast: those to a model without loops that are no larger than a previous fast one. The first run prepares the
    graph, which may take half a second. Concurrent requests wait for it for some time, so that this is done only once.

    Args:
        session: The session of the graph.
        signature: The signature, with the names of the tensors.
        outputs: The outputs to compute.
        may_run_here: Whether the calling thread may run requests at all.
    """

    def __init__(
        self,
        session: tf.compat.v1.Session,
        signature: SignatureDef,
        outputs: Sequence[str],
        may_run_here: bool,
    ):
        self._session = session
        self._inputs = list(signature.inputs)
        self._outputs = list(outputs)
        self._feed_names = [info.name for info in signature.inputs.values()]
        for place, name in enumerate(self._feed_names):
            if name in self._feed_names[:place]:
                raise invalid(f'Endpoint "{name}" fed more than once.')
        names = [signature.outputs[alias].name for alias in outputs]
        self._fetch_names = list(dict.fromkeys(names))  # two outputs may be the same tensor
        self._places = [self._fetch_names.index(name) for name in names]
        self._feeds = [_tensor(session.graph, name, "FeedInputs") for name in self._feed_names]
        self._fetches = [_tensor(session.graph, name, "FetchOutputs") for name in self._fetch_names]
        self._dtypes = [np.dtype(tf.as_dtype(info.dtype).as_numpy_dtype) for info in signature.inputs.values()]
        self._unprepared = True
        self._preparing = threading.Lock()  # held during the first run
        # The same computation in the calling thread; created on first use.
        self._callable: Callable[..., list[np.ndarray]] | None = None
        self._quick = -1  # size of the largest request known to be fast
        self._costly = math.inf if may_run_here else -math.inf  # size of the smallest request known to be slow

    def __call__(self, inputs: Arrays, timeout: float | None) -> dict[str, np.ndarray]:
        end = None if timeout is None else time.monotonic() + timeout
        values = [inputs[alias] for alias in self._inputs]
        if self._unprepared and self._begins(end):
            try:
                found = self._within(end, values)
                self._unprepared = False
            finally:
                self._preparing.release()
        else:
            size = sum(_size(value) for value in values)
            run = self._here if self._may_run(values, size) else self._timed
            found = run(end, values, size)
        return self._named(found)

    def _named(self, found: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        return {alias: _array(found[place]) for alias, place in zip(self._outputs, self._places, strict=True)}

    def quick(self, inputs: Arrays) -> Callable[[], dict[str, np.ndarray]] | None:
        """Return a function that runs in the calling thread, if that has run inputs at least as large before."""
        values = [inputs[alias] for alias in self._inputs]
        size = sum(map(_size, values))
        if self._callable is None or not self._may_run(values, size):
            return None
        return lambda: self._named(self._here(None, values, size))

    def _may_run(self, values: list[np.ndarray], size: int) -> bool:
        """Return whether the calling thread may run these values, which should then be fast."""
        return size <= self._quick and [value.dtype for value in values] == self._dtypes

    def _begins(self, end: float | None) -> bool:
        """Return whether this is the first run; if not, wait until that has finished, but only for a limited time."""
        wait = FIRST_SECONDS if end is None else min(FIRST_SECONDS, end - time.monotonic())
        if not self._preparing.acquire(timeout=max(wait, 0)):
            return False  # the first run is slow for another reason
        if not self._unprepared:
            self._preparing.release()
        return self._unprepared

    def _timed(self, end: float | None, values: list[np.ndarray], size: int) -> list[np.ndarray]:
        start = time.perf_counter()
        found = self._within(end, values)
        if time.perf_counter() - start < QUICK_SECONDS and self._quick < size < self._costly:
            self._quick = size
        return found

    def _here(self, end: float | None, values: list[np.ndarray], size: int) -> list[np.ndarray]:
        """Run in the calling thread, and record whether that was too slow."""
        try:
            if self._callable is None:
                options = config_pb2.CallableOptions(feed=self._feed_names, fetch=self._fetch_names)
                options.run_options.inter_op_thread_pool = -1
                self._callable = self._session._make_callable_from_options(options)
            start = time.thread_time()
            found = self._callable(*values)
        except tf.errors.OpError as error:
            raise from_exception(error) from error
        if time.thread_time() - start > CHEAP_SECONDS:
            self._costly = min(self._costly, size)
            self._quick = min(self._quick, size - 1)
        if end is not None and time.monotonic() > end:
            raise deadline_exceeded()
        return found

    def _within(self, end: float | None, values: list[np.ndarray]) -> list[np.ndarray]:
        """Run in TensorFlow's threads, which stop at the deadline."""
        options = None
        if end is not None:
            milliseconds = int((end - time.monotonic()) * 1000)
            if milliseconds < 1:
                raise deadline_exceeded()
            told = config_pb2.RunOptions(timeout_in_ms=min(milliseconds, 2**62))
            options = pywrap_tf_session.TF_NewBufferFromString(told.SerializeToString())
        try:
            feeds = dict(zip(self._feeds, values, strict=True))
            return pywrap_tf_session.TF_SessionRun_wrapper(
                self._session._session, options, feeds, self._fetches, [], None
            )
        except tf.errors.OpError as error:
            raise from_exception(error) from error
        finally:
            if options is not None:
                pywrap_tf_session.TF_DeleteBuffer(options)


def _loader(path: Path, tags: Sequence[str]) -> loader_impl.SavedModelLoader:
    """Return the loader of a model; errors have the messages of TensorFlow's C++ loader."""
    if not is_saved_model(path):
        raise ServingError("NOT_FOUND", "Could not find SavedModel .pb or .pbtxt at supplied export directory path")
    try:
        loader = loader_impl.SavedModelLoader(str(path))
    except OSError:
        raise ServingError("DATA_LOSS", "Can't parse saved_model.pb as binary proto") from None
    try:
        loader.get_meta_graph_def_from_tags(tags)
    except RuntimeError:
        raise ServingError(
            "NOT_FOUND", f"Could not find meta graph def matching supplied tags: {{ {' '.join(tags)} }}"
        ) from None
    return loader


def _tensor(graph: tf.Graph, name: str, side: str) -> object:
    """Return a tensor of the graph in the form that TensorFlow's C API requires."""
    try:
        return graph.get_tensor_by_name(name if ":" in name else f"{name}:0")._as_tf_output()
    except (KeyError, ValueError):
        raise ServingError("NOT_FOUND", f"{side} {name}: not found") from None


def _array(value: np.ndarray | np.generic | bytes) -> np.ndarray:
    """Convert an output to an array, because TensorFlow does not return scalars as arrays."""
    return np.array(value, np.object_) if isinstance(value, bytes) else np.asarray(value)


def _size(value: np.ndarray) -> int:
    return value.size + sum(map(len, value.flat)) if value.dtype.kind == "O" else value.nbytes
