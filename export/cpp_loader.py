"""TensorFlow's C++ SavedModel loader and session, which TensorFlow Serving also links, from the installed wheel.

The C API of the wheel's library is called directly, without TensorFlow's Python code. `tf.saved_model.load` rebuilds a
model in Python, so it may succeed where this loader fails; a model can be served only if this loader runs it.

`ask` runs the requests in a separate process, so that Keras objects and variables of this process have no influence and
a crash of the library is reported like any other failure.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np

_SERVE = b"serve"
# Dtypes by their number in TensorFlow; strings are object arrays of bytes.
DTYPES = {
    1: np.float32,
    2: np.float64,
    3: np.int32,
    4: np.uint8,
    5: np.int16,
    6: np.int8,
    7: np.object_,
    8: np.complex64,
    9: np.int64,
    10: np.bool_,
    14: ml_dtypes.bfloat16,
    17: np.uint16,
    18: np.complex128,
    19: np.float16,
    22: np.uint32,
    23: np.uint64,
}
_NUMBERS = {np.dtype(dtype): number for number, dtype in DTYPES.items()}
_STRING, _STRING_BYTES = 7, 24  # the size of a TF_TString
_POINTER = ctypes.c_void_p
# Remove the current folder from the module path, since it may contain an unrelated folder `tensorflow`.
_START = "import sys; del sys.path[0], sys.argv[0]; import runpy; runpy.run_path(sys.argv[0], run_name='__main__')"


class RunRequest(NamedTuple):
    """A request: the values of the tensors that are fed, by name in the graph, and the names of those to return."""

    feeds: Sequence[tuple[str, np.ndarray]]
    fetches: Sequence[str]


class RunResult(NamedTuple):
    """The result of a request: the requested tensors, or the status code and message of the library."""

    arrays: Sequence[np.ndarray] = ()
    code: int = 0
    message: str = ""


def ask(
    folder: Path, asks: Sequence[RunRequest], timeout: float = 600.0, python: str = sys.executable
) -> list[RunResult]:
    """Load a SavedModel in a separate process and run all requests.

    Args:
        folder: The folder that contains `saved_model.pb`.
        asks: The requests, in order.
        timeout: The timeout for all requests in seconds.
        python: An interpreter with TensorFlow and TensorFlow Text of any release; nothing but this file is required.

    Raises:
        ValueError: If the model cannot be loaded, or if the library crashes or exceeds the timeout; with its message.
    """
    command = [python, "-c", _START, __file__, str(Path(folder).resolve())]
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
    plain = pickle.dumps([tuple(one) for one in asks])  # plain tuples, which can be unpickled without this package
    try:
        done = subprocess.run(command, input=plain, capture_output=True, env=environment, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise ValueError(
            f"{folder}: expected an answer from TensorFlow's C++ loader within {timeout:g} s. Received: none"
        ) from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        how = signal.Signals(-done.returncode).name if done.returncode < 0 else lines[-1] if lines else done.returncode
        raise ValueError(f"{folder}: expected a model that TensorFlow's C++ loader can run. Received: {how}")
    refusal, results = pickle.loads(done.stdout)  # trusted: written by our own process
    if refusal:
        raise ValueError(f"{folder}: expected a model that TensorFlow's C++ loader can load. Received: {refusal}")
    return [RunResult(*one) for one in results]


class CppError(Exception):
    """A status of the library that is not OK."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code


class CppSession:
    """A SavedModel, loaded for serving.

    Args:
        folder: The folder that contains `saved_model.pb`.

    Raises:
        CppError: If the library cannot load the model.
    """

    def __init__(self, folder: str | Path):
        self._library = _library()
        self._graph = self._library.TF_NewGraph()
        options = self._library.TF_NewSessionOptions()
        tags = (ctypes.c_char_p * 1)(_SERVE)
        where = os.fsencode(folder)
        self._session = self._checked("TF_LoadSessionFromSavedModel", options, None, where, tags, 1, self._graph, None)

    def run(self, feeds: Sequence[tuple[str, np.ndarray]], fetches: Sequence[str]) -> list[np.ndarray]:
        """Return the tensors `fetches`, by their names in the graph (`StatefulPartitionedCall:0`)."""
        inputs = (_Output * len(feeds))(*(self._output(name) for name, _ in feeds))
        given = (_POINTER * len(feeds))(*(self._tensor(value) for _, value in feeds))
        outputs = (_Output * len(fetches))(*map(self._output, fetches))
        found = (_POINTER * len(fetches))()
        try:
            wanted = (inputs, given, len(feeds), outputs, found, len(fetches))
            self._checked("TF_SessionRun", self._session, None, *wanted, None, 0, None)
            return [self._array(tensor) for tensor in found]
        finally:
            for tensor in (*given, *found):
                if tensor:
                    self._library.TF_DeleteTensor(tensor)

    def _checked(self, function: str, *arguments: object) -> int:
        """Call a function whose last argument is a status, and return its result."""
        status = self._library.TF_NewStatus()
        try:
            result = getattr(self._library, function)(*arguments, status)
            if code := self._library.TF_GetCode(status):
                raise CppError(code, self._library.TF_Message(status).decode("utf-8", "replace"))
            return result
        finally:
            self._library.TF_DeleteStatus(status)

    def _output(self, name: str) -> _Output:
        operation, _, index = name.partition(":")
        found = self._library.TF_GraphOperationByName(self._graph, operation.encode())
        if not found:
            raise CppError(5, f"{operation} is not in the graph")
        return _Output(found, int(index or 0))

    def _tensor(self, array: np.ndarray) -> int:
        array = np.asarray(array)
        number = _NUMBERS[array.dtype]
        size = array.size * _STRING_BYTES if number == _STRING else array.nbytes
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        tensor = self._library.TF_AllocateTensor(number, shape, array.ndim, size)
        place = self._library.TF_TensorData(tensor)
        if number == _STRING:
            for text in array.ravel():
                self._library.TF_StringInit(place)
                self._library.TF_StringCopy(place, text, len(text))
                place += _STRING_BYTES
        elif size:
            ctypes.memmove(place, np.ascontiguousarray(array).ctypes.data, size)
        return tensor

    def _array(self, tensor: int | None) -> np.ndarray:
        library = self._library
        number = library.TF_TensorType(tensor)
        if number not in DTYPES:
            raise CppError(12, f"outputs of TensorFlow's dtype {number} are not supported")
        shape = [library.TF_Dim(tensor, axis) for axis in range(library.TF_NumDims(tensor))]
        array = np.empty(shape, DTYPES[number])
        place = library.TF_TensorData(tensor)
        if number == _STRING:
            places = [place + _STRING_BYTES * row for row in range(array.size)]
            texts = [ctypes.string_at(library.TF_StringGetDataPointer(p), library.TF_StringGetSize(p)) for p in places]
            flat = array.reshape(-1)
            flat[:] = texts
            return flat.reshape(shape)
        if array.nbytes:
            ctypes.memmove(array.ctypes.data, place, array.nbytes)
        return array


class _Output(ctypes.Structure):
    """One output of an operation."""

    _fields_ = [("operation", _POINTER), ("index", ctypes.c_int)]


_SIGNATURES = {  # function: result, arguments
    "TF_NewStatus": (_POINTER, []),
    "TF_DeleteStatus": (None, [_POINTER]),
    "TF_GetCode": (ctypes.c_int, [_POINTER]),
    "TF_Message": (ctypes.c_char_p, [_POINTER]),
    "TF_NewGraph": (_POINTER, []),
    "TF_NewSessionOptions": (_POINTER, []),
    "TF_LoadLibrary": (_POINTER, [ctypes.c_char_p, _POINTER]),
    "TF_LoadSessionFromSavedModel": (
        _POINTER,
        [_POINTER, _POINTER, ctypes.c_char_p, _POINTER, ctypes.c_int, _POINTER, _POINTER, _POINTER],
    ),
    "TF_GraphOperationByName": (_POINTER, [_POINTER, ctypes.c_char_p]),
    "TF_SessionRun": (
        None,
        [_POINTER, _POINTER, *(_POINTER, _POINTER, ctypes.c_int) * 2, _POINTER, ctypes.c_int, _POINTER, _POINTER],
    ),
    "TF_AllocateTensor": (_POINTER, [ctypes.c_int, _POINTER, ctypes.c_int, ctypes.c_size_t]),
    "TF_DeleteTensor": (None, [_POINTER]),
    "TF_TensorType": (ctypes.c_int, [_POINTER]),
    "TF_NumDims": (ctypes.c_int, [_POINTER]),
    "TF_Dim": (ctypes.c_int64, [_POINTER, ctypes.c_int]),
    "TF_TensorData": (_POINTER, [_POINTER]),
    "TF_StringInit": (None, [_POINTER]),
    "TF_StringCopy": (None, [_POINTER, ctypes.c_char_p, ctypes.c_size_t]),
    "TF_StringGetDataPointer": (_POINTER, [_POINTER]),
    "TF_StringGetSize": (ctypes.c_size_t, [_POINTER]),
}


def _library() -> ctypes.CDLL:
    """Load TensorFlow's library with TensorFlow Text's ops, both of which TensorFlow Serving's binary contains."""
    [file] = _folder("tensorflow").glob("libtensorflow_cc.*")  # .so.2, or .2.dylib
    library = ctypes.CDLL(str(file), ctypes.RTLD_GLOBAL)
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    status = library.TF_NewStatus()
    for ops in sorted(_folder("tensorflow_text").rglob("*.so")):
        library.TF_LoadLibrary(os.fsencode(ops), status)  # on failure, its ops are reported missing
    library.TF_DeleteStatus(status)
    return library


def _folder(package: str) -> Path:
    """Return the installation folder of a package, without importing it."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ValueError(f"expected the package {package}. Received: it is not installed")
    return Path(found.submodule_search_locations[0])


def _answer(folder: str, asks: Sequence[tuple]) -> tuple[str, list[tuple]]:
    """Return the error if the model cannot be loaded, and the fields of a `RunResult` for each request."""
    try:
        session = CppSession(folder)
    except CppError as error:
        return str(error), []
    results: list[tuple] = []
    for feeds, fetches in asks:
        try:
            results.append((session.run(feeds, fetches),))
        except CppError as error:
            results.append(((), error.code, str(error)))
    return "", results


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keeps the output of models that print apart from the answers
    pickle.dump(_answer(sys.argv[1], pickle.load(sys.stdin.buffer)), answers)
    answers.close()
