"""Bodies of TF Serving's REST API: JSON documents to named tensors, and outputs to JSON. Does not need TensorFlow.

row       {"instances": [{"text": "a"}, {"text": "b"}]}   ->  {"predictions": [...]}
columnar  {"inputs": {"text": ["a", "b"]}}                ->  {"outputs": {...}}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.serving.api.json_reader import Repeated, Tick
from seqattn_tf.serving.api.json_text import list_text, write_array, write_floats, write_rows, write_text
from seqattn_tf.serving.api.json_values import is_base64, read_array, read_regular, read_values, shown, to_array
from seqattn_tf.serving.errors import ServingError, invalid


def read_signature_name(document: Mapping[str, Any]) -> str:
    """Return the signature name in a document; empty if there is none."""
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid(
            f"JSON Value: {shown(document)} not formatted correctly. 'signature_name' key must be a string value."
        )
    return name


def decode_inputs(document: Mapping[str, Any], dtypes: Mapping[str, str]) -> tuple[bool, dict[str, np.ndarray]]:
    """Return the tensors of a predict request.

    Args:
        document: The parsed body.
        dtypes: TF Serving's type name of each input of the signature.

    Returns:
        Whether the request is in row format, and one array for each input.
    """
    row, columnar = "instances" in document, "inputs" in document
    if row and columnar:
        raise invalid(
            f"JSON Value: {shown(document)} Not formatted correctly expecting only one of "
            "'inputs' or 'instances' keys to exist "
        )
    if columnar:
        return False, _decode_columns(document["inputs"], dtypes)
    if not row:
        raise invalid("Missing 'inputs' or 'instances' key")
    instances = document["instances"]
    if not isinstance(instances, list):
        raise invalid(f"JSON Value: {shown(document)} Expecting 'instances' to be an list/array")
    if not instances:
        raise invalid(f"JSON Value: {shown(document)} No values in 'instances' array")
    return True, _decode_rows(instances, dtypes)


def encode_outputs(outputs: Mapping[str, np.ndarray], row: bool, tick: Tick = lambda: None) -> bytes:
    """Return the body of a predict response; a single output is written without its name.

    `tick` is called from time to time while large outputs are written; it may raise an error to stop.
    """
    if not outputs:
        raise invalid("Cannot convert empty tensor map to JSON")
    if not row:
        columns = {alias: write_array(alias, array, tick) for alias, array in outputs.items()}
        return _body("outputs", next(iter(columns.values())) if len(columns) == 1 else _object(columns))
    _check_batch(outputs)
    if len(outputs) == 1:
        [(alias, array)] = outputs.items()
        return _body("predictions", write_array(alias, array, tick))
    rows = [write_rows(alias, array, tick) for alias, array in outputs.items()]
    names = list(outputs)
    cells = [_object(dict(zip(names, texts, strict=True))) for texts in zip(*rows, strict=True)]
    return _body("predictions", list_text(cells))


def encode_classifications(examples: Sequence[Sequence[tuple[str, float]]]) -> bytes:
    """Return the body of a classify response: for each example, its labels and their scores.

    >>> encode_classifications([[("cat", 0.75), ("dog", 0.25)]])
    b'{"results": [[["cat", 0.75], ["dog", 0.25]]]}'
    """
    texts = []
    for classes in examples:
        scores = write_floats(np.array([score for _, score in classes], np.float32))
        pairs = zip((label for label, _ in classes), scores, strict=True)
        texts.append(list_text([list_text([write_text(label), score]) for label, score in pairs]))
    return _body("results", list_text(texts))


def encode_regressions(values: Sequence[float]) -> bytes:
    """Return the body of a regress response: one value for each example."""
    return _body("results", list_text(write_floats(np.array(values, np.float32))))


def encode_document(document: Mapping[str, Any]) -> bytes:
    """Encode a response document as UTF-8; the names for non-finite numbers are NaN and Infinity."""
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


class _Column:
    """The values of one input, collected row by row; every row must have the shape of the first row."""

    def __init__(self, dtype: str):
        self.dtype = dtype
        self.rows = 0
        self.shape: tuple[int, ...] = ()
        self.values: list = []
        self._in_row = False  # whether the current row has its value

    def add(self, value: Any) -> None:
        """Add the value of a row; of several values in the same row, which must be alike, the first one counts."""
        shape, values = read_values(value, self.dtype)
        if self.rows and shape != self.shape:
            expected = len(self.values) // self.rows
            if len(values) != expected:
                raise invalid(f"Expecting tensor size: {expected} but got: {len(values)}")
            raise invalid(f"Expecting shape {_brackets(self.shape)} but got: {_brackets(shape)}")
        if self._in_row:
            return
        self.shape = shape
        self.rows += 1
        self.values += values
        self._in_row = True

    def end_row(self) -> None:
        """Expect the value of the next row."""
        self._in_row = False

    def array(self) -> np.ndarray:
        return to_array((self.rows, *self.shape), self.values, self.dtype)


def _decode_rows(instances: list, dtypes: Mapping[str, str]) -> dict[str, np.ndarray]:
    if len(dtypes) > 1 and not isinstance(instances[0], dict):
        raise invalid(
            "instances is a plain list, but expecting list of objects as multiple "
            "input tensors required as per tensorinfo_map"
        )
    named = _is_named(instances[0])
    regular = _regular_rows(instances, dtypes, named)
    if regular is not None:
        return regular
    columns = {alias: _Column(dtype) for alias, dtype in dtypes.items()}
    for index, element in enumerate(instances):
        if named != _is_named(element):
            kinds = "object but got list" if named else "value/list but got object"
            raise invalid(f"Expecting {kinds} at item {index} of input list")
        for alias, value in _fields(element) if named else [(next(iter(dtypes)), element)]:
            _add_field(columns, alias, value, f"{index} key: {alias}" if named else str(index))
        for column in columns.values():
            column.end_row()
        if named and element.keys() != dtypes.keys():
            raise invalid(
                f"Failed to process element: {index} of 'instances' list. JSON object: {shown(element)} "
                f"keys must be equal to: {','.join(sorted(dtypes))}"
            )
    return {alias: column.array() for alias, column in columns.items() if column.rows}


def _regular_rows(instances: list, dtypes: Mapping[str, str], named: bool) -> dict[str, np.ndarray] | None:
    """Return the tensors of uniform rows, read column by column, or None if the rows must be read one by one."""
    if named:
        names = dtypes.keys()
        if not all(type(element) is dict and element.keys() == names for element in instances):
            return None
        columns = {alias: [element[alias] for element in instances] for alias in dtypes}
    else:
        columns = {next(iter(dtypes)): instances}
    arrays: dict[str, np.ndarray] = {}
    for alias, column in columns.items():
        array = read_regular(column, dtypes[alias])
        if array is None:
            return None
        arrays[alias] = array
    return arrays


def _fields(element: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """Return the members of a row, including those with the same name."""
    return element.pairs if isinstance(element, Repeated) else element.items()


def _add_field(columns: Mapping[str, _Column], alias: str, value: Any, place: str) -> None:
    """Add one value; in row format, every error is INVALID_ARGUMENT and its message contains the index of the row."""
    try:
        if alias not in columns:
            raise invalid(f"JSON object: does not have named input: {alias}")
        columns[alias].add(value)
    except ServingError as error:
        raise invalid(
            f"Failed to process element: {place} of 'instances' list. Error: {error.code}: {error.message}"
        ) from None


def _decode_columns(inputs: Any, dtypes: Mapping[str, str]) -> dict[str, np.ndarray]:
    if not _is_named(inputs):
        if len(dtypes) > 1:
            raise invalid(
                "inputs is a plain value/list, but expecting an object as multiple "
                "input tensors required as per tensorinfo_map"
            )
        inputs = {next(iter(dtypes)): inputs}
    arrays = {}
    for alias, dtype in dtypes.items():
        if alias not in inputs:
            raise invalid(f"Missing named input: {alias} in 'inputs' object.")
        arrays[alias] = read_array(inputs[alias], dtype)
    return arrays


def _check_batch(outputs: Mapping[str, np.ndarray]) -> None:
    batch = None
    for alias, array in outputs.items():
        if array.ndim == 0:
            raise invalid(f"Tensor name: {alias} has no shape information ")
        if batch is not None and len(array) != batch:
            raise invalid(f"Tensor name: {alias} has inconsistent batch size: {len(array)} expecting: {batch}")
        batch = len(array)


def _is_named(value: Any) -> bool:
    return isinstance(value, dict) and not is_base64(value)


def _brackets(shape: tuple[int, ...]) -> str:
    return "[" + ",".join(map(str, shape)) + "]"


def _body(key: str, text: str) -> bytes:
    return f'{{"{key}": {text}}}'.encode()


def _object(texts: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{write_text(name)}: {text}" for name, text in texts.items()) + "}"
