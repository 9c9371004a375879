"""A SavedModel in a session: the loader's restore, the graph and the runtime that TensorFlow Serving has.

`tf.saved_model.load` builds a model anew in Python. It answers where TensorFlow Serving fails, refuses shapes that
TensorFlow Serving takes, and costs a multiple for each call; a session has none of that, and runs TensorFlow 1's
models too. One thing it cannot do: stop a run whose client has left. Such a run ends by itself or at its deadline.
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
from tensorflow.core.protobuf import config_pb2, meta_graph_pb2
from tensorflow.python.client import pywrap_tf_session  # a run with named tensors costs a sixth of `Session.run`
from tensorflow.python.saved_model import loader_impl

from seqattn_tf.export.meta_graph import is_saved_model, ops_of
from seqattn_tf.serving.errors import ServingError, from_exception, invalid
from seqattn_tf.serving.models.engine import Arrays, late

QUICK_SECONDS = 0.002  # a run in TensorFlow's threads that took less is worth a trial in the caller's
CHEAP_SECONDS = 0.0005  # of one core; what takes less goes on there
FIRST_SECONDS = 1.0  # that others wait for the first run to prepare the graph
# A run with one of these may take any time, however small its inputs.
_LOOPS = frozenset({"While", "StatelessWhile", "For", "LoopCond", "MapDefun"})


class SessionEngine:
    """A SavedModel, restored and ready to run.

    Args:
        path: the folder of `saved_model.pb`.
        config: of the session: threads, memory.
        tags: of the graph in it.

    Raises:
        ServingError: it holds no SavedModel, a broken one, or none for serving.
        tf.errors.OpError: what TensorFlow says of one that it cannot restore.
    """

    def __init__(
        self,
        path: Path,
        config: config_pb2.ConfigProto | None = None,
        tags: Sequence[str] = (tf.saved_model.SERVING,),
    ):
        loader = _loader(path, tags)
        # Without a config the session would move to a CPU what is pinned to another device; TF Serving's does not.
        session = tf.compat.v1.Session(graph=tf.Graph(), config=config or config_pb2.ConfigProto())
        weakref.finalize(self, session.close).atexit = False
        try:
            loaded = loader.load(session, tags)
        except ValueError:  # the C++ loader takes it for a model without weights, and fails when they are read
            raise ServingError("DATA_LOSS", "expected whole weights in variables/. Received: none") from None
        self.signature_defs = dict(loaded.signature_def)
        self._session = session
        self._may_run_here = not ops_of(loaded.graph_def) & _LOOPS
        self._runs: dict[tuple[str, tuple[str, ...]], _Run] = {}
        self._lock = threading.Lock()

    def run(
        self, signature_name: str, inputs: Arrays, outputs: Sequence[str], timeout: float | None
    ) -> dict[str, np.ndarray]:
        """See `Engine.run`."""
        key = (signature_name, tuple(sorted(outputs)))
        run = self._runs.get(key) or self._make(*key)
        return run(inputs, timeout)

    def _make(self, signature_name: str, outputs: tuple[str, ...]) -> _Run:
        signature = self.signature_defs[signature_name]
        with self._lock:  # so that all who come together wait for the same first run
            key = (signature_name, outputs)
            if key not in self._runs:
                self._runs[key] = _Run(self._session, signature, outputs, self._may_run_here)
            return self._runs[key]


class _Run:
    """Runs one signature for the same outputs every time.

    TensorFlow's threads honour a deadline, and the thread that calls does not: it runs only what was seen to be quick,
    that is, requests no larger than one that was, to a model without loops. Others wait a while for the first run to
    end: it prepares the graph, for half a second perhaps, and should do it once, not once for everyone who comes at the
    same time.

    Args:
        session: holds the graph.
        signature: names the tensors.
        outputs: which of its outputs.
        may_run_here: whether the calling thread may ever do it.
    """

    def __init__(
        self,
        session: tf.compat.v1.Session,
        signature: meta_graph_pb2.SignatureDef,
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
        self._preparing = threading.Lock()  # held by the first run
        # The same in the thread that calls it, made when it is worth it.
        self._callable: Callable[..., list[np.ndarray]] | None = None
        self._quick = -1  # the size of the largest request that was seen to be quick
        self._costly = math.inf if may_run_here else -math.inf  # and of the smallest that was too much

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
            known = size <= self._quick and [value.dtype for value in values] == self._dtypes
            found = self._here(end, values, size) if known else self._timed(end, values, size)
        return {alias: _array(found[place]) for alias, place in zip(self._outputs, self._places, strict=True)}

    def _begins(self, end: float | None) -> bool:
        """Whether this is the first run; if it is not, after the first one has ended or has had its time."""
        wait = FIRST_SECONDS if end is None else min(FIRST_SECONDS, end - time.monotonic())
        if not self._preparing.acquire(timeout=max(wait, 0)):
            return False  # it takes long for another reason
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
        """Runs in this thread, and sees whether that was too much."""
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
            raise late()
        return found

    def _within(self, end: float | None, values: list[np.ndarray]) -> list[np.ndarray]:
        """Runs in TensorFlow's threads, which stop at the deadline."""
        options = None
        if end is not None:
            milliseconds = int((end - time.monotonic()) * 1000)
            if milliseconds < 1:
                raise late()
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
    """What reads the model; its faults in the words of TensorFlow's C++ loader."""
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
    """A tensor of the graph, as TensorFlow's C API names it."""
    try:
        return graph.get_tensor_by_name(name if ":" in name else f"{name}:0")._as_tf_output()
    except (KeyError, ValueError):
        raise ServingError("NOT_FOUND", f"{side} {name}: not found") from None


def _array(value: np.ndarray | np.generic | bytes) -> np.ndarray:
    """What TensorFlow gives for a scalar is no array."""
    return np.array(value, np.object_) if isinstance(value, bytes) else np.asarray(value)


def _size(value: np.ndarray) -> int:
    return value.size + sum(map(len, value.flat)) if value.dtype.kind == "O" else value.nbytes
