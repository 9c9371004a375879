"""TensorFlow's C++ SavedModel loader and session, the code that TensorFlow Serving links, from the installed wheel.

Nothing of TensorFlow's Python is loaded: the C API of the wheel's library is called directly. `tf.saved_model.load`
builds a model anew in Python and so answers where this loader fails; what serves is what this loader runs.

`ask` puts the questions in a process of its own, so that neither Keras nor variables of this process can help, and a
crash of the library is an answer like another.
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
# TensorFlow's number of each dtype; strings are object arrays of bytes.
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
_STRING, _STRING_BYTES = 7, 24  # a TF_TString
_POINTER = ctypes.c_void_p
# Python looks for modules in the current folder first, where a folder `tensorflow` may be anything.
_START = "import sys; del sys.path[0], sys.argv[0]; import runpy; runpy.run_path(sys.argv[0], run_name='__main__')"


class Ask(NamedTuple):
    """What to run: a value for each tensor that is fed, by its name in the graph, and the tensors wanted."""

    feeds: Sequence[tuple[str, np.ndarray]]
    fetches: Sequence[str]


class Told(NamedTuple):
    """What a run gave: the tensors wanted, or the library's code and words for why not."""

    arrays: Sequence[np.ndarray] = ()
    code: int = 0
    message: str = ""


def ask(folder: Path, asks: Sequence[Ask], timeout: float = 600.0, python: str = sys.executable) -> list[Told]:
    """Loads a SavedModel in a clean process and runs each ask.

    Args:
        folder: holds `saved_model.pb`.
        asks: what to run, one after the other.
        timeout: seconds for all of it.
        python: an interpreter with TensorFlow and TensorFlow Text, of whichever release; this file is all it needs.

    Raises:
        ValueError: it does not load, or the library crashed or was too slow; with its own words.
    """
    command = [python, "-c", _START, __file__, str(Path(folder).resolve())]
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
    plain = pickle.dumps([tuple(one) for one in asks])  # so that it can be read where this package is not installed
    try:
        done = subprocess.run(command, input=plain, capture_output=True, env=environment, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise ValueError(
            f"{folder}: expected answers of TensorFlow's C++ loader within {timeout:g} s. Received: none"
        ) from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        how = signal.Signals(-done.returncode).name if done.returncode < 0 else said[-1] if said else done.returncode
        raise ValueError(f"{folder}: expected that TensorFlow's C++ loader survives it. Received: {how}")
    refusal, told = pickle.loads(done.stdout)  # of our own process
    if refusal:
        raise ValueError(f"{folder}: expected a model that TensorFlow's C++ loader loads. Received: {refusal}")
    return [Told(*one) for one in told]


class CppError(Exception):
    """A status of the library that is not OK."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code


class CppSession:
    """A SavedModel, loaded for serving.

    Args:
        folder: holds `saved_model.pb`.

    Raises:
        CppError: the library's refusal.
    """

    def __init__(self, folder: str | Path):
        self._library = _library()
        self._graph = self._library.TF_NewGraph()
        options = self._library.TF_NewSessionOptions()
        tags = (ctypes.c_char_p * 1)(_SERVE)
        where = os.fsencode(folder)
        self._session = self._checked("TF_LoadSessionFromSavedModel", options, None, where, tags, 1, self._graph, None)

    def run(self, feeds: Sequence[tuple[str, np.ndarray]], fetches: Sequence[str]) -> list[np.ndarray]:
        """The tensors `fetches`, by their names in the graph (`StatefulPartitionedCall:0`)."""
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
        """The result of a function whose last argument is a status."""
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
            raise CppError(12, f"an output of TensorFlow's dtype {number} cannot be read here")
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
    """TensorFlow's library with TensorFlow Text's ops, as TensorFlow Serving's binary has both."""
    [file] = _folder("tensorflow").glob("libtensorflow_cc.*")  # .so.2, or .2.dylib
    library = ctypes.CDLL(str(file), ctypes.RTLD_GLOBAL)
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    status = library.TF_NewStatus()
    for ops in sorted(_folder("tensorflow_text").rglob("*.so")):
        library.TF_LoadLibrary(os.fsencode(ops), status)  # what fails to load is missed by name, if at all
    library.TF_DeleteStatus(status)
    return library


def _folder(package: str) -> Path:
    """Where a package is installed, without importing it."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ValueError(f"expected that {package} is installed. Received: no such package")
    return Path(found.submodule_search_locations[0])


def _answer(folder: str, asks: Sequence[tuple]) -> tuple[str, list[tuple]]:
    """Why the model does not load, or what each ask gave, as the fields of `Told`."""
    try:
        session = CppSession(folder)
    except CppError as error:
        return str(error), []
    told: list[tuple] = []
    for feeds, fetches in asks:
        try:
            told.append((session.run(feeds, fetches),))
        except CppError as error:
            told.append(((), error.code, str(error)))
    return "", told


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a model may print
    pickle.dump(_answer(sys.argv[1], pickle.load(sys.stdin.buffer)), answers)
    answers.close()
