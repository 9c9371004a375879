"""Compact storage of the weights of a network: in half precision, or as 8-bit integers with scales.

    w ~ scale[channel] * q,   q in -127 ... 127,   scale[channel] = max |w[..., channel]| / 127

A channel is an index of the last axis with more than one element: a column of a matrix, a dimension of an embedding, a
filter.
"""

from collections.abc import Mapping, Sequence

import keras
import numpy as np

_FORMS = ("float16", "int8")
_SCALE = "_scale"  # suffix of the array with the scales of a weight
_MOST = 127


def check_form(form: str) -> None:
    """Check that weights can be stored in this form."""
    if form not in _FORMS:
        raise ValueError(f"compact: expected False, True or one of {list(_FORMS)}. Received: {form!r}")


def pack(weights: Sequence[keras.Variable], form: str) -> dict[str, np.ndarray]:
    """Return the arrays to store by name: each weight under its number, with its scales if it has any.

    With `int8`, vectors are stored in half precision. Weights that are not floating-point are stored unchanged in any
    form.

    Raises:
        ValueError: If the form is unknown, or if a weight is not a finite number in it.
    """
    check_form(form)
    stored: dict[str, np.ndarray] = {}
    for name, weight in _named(weights).items():
        values = weight.numpy()
        if _is_exact(weight):
            stored[name] = values
            continue
        values = values.astype("float32")
        shape = _scales_shape(values.shape)
        if form == "int8" and shape:
            _refuse_infinite(weight, values)
            stored[name], stored[name + _SCALE] = _quantize(values, shape)
        else:
            with np.errstate(over="ignore"):  # overflow is reported below
                stored[name] = values.astype("float16")
            _refuse_infinite(weight, stored[name])
    return stored


def unpack(weights: Sequence[keras.Variable], stored: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Restore the values of the weights from stored arrays.

    Raises:
        KeyError: If an array is missing.
        ValueError: If there are arrays for other weights, or if the scales of a weight do not match its channels.
    """
    named = _named(weights)
    if others := {name.removesuffix(_SCALE) for name in stored} - set(named):
        raise ValueError(f"expected {len(named)} weights. Received: unknown weights {sorted(others)}")
    return [_restored(name, weight, stored) for name, weight in named.items()]


def _named(weights: Sequence[keras.Variable]) -> dict[str, keras.Variable]:
    return {f"{number:04d}": weight for number, weight in enumerate(weights)}


def _restored(name: str, weight: keras.Variable, stored: Mapping[str, np.ndarray]) -> np.ndarray:
    values = stored[name]
    if _is_exact(weight):
        return values.astype(weight.dtype)
    if values.dtype != np.int8:
        return values.astype("float32")
    scales = stored[name + _SCALE]
    if scales.shape != _scales_shape(values.shape):
        raise ValueError(f"expected a scale for each channel of {list(values.shape)}. Received: {list(scales.shape)}")
    return values * scales


def _is_exact(weight: keras.Variable) -> bool:
    return not keras.backend.is_float_dtype(weight.dtype)


def _scales_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of the scales, which broadcasts to the weight: `[1, channels]` for a matrix, else `()`."""
    wide = [axis for axis, size in enumerate(shape) if size > 1]
    return tuple(size if axis == wide[-1] else 1 for axis, size in enumerate(shape)) if len(wide) > 1 else ()


def _quantize(values: np.ndarray, shape: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    others = tuple(axis for axis, size in enumerate(shape) if size == 1)
    scales = np.abs(values).max(axis=others, keepdims=True) / np.float32(_MOST)
    scales[scales == 0] = 1
    return np.clip(np.rint(values / scales), -_MOST, _MOST).astype("int8"), scales


def _refuse_infinite(weight: keras.Variable, values: np.ndarray) -> None:
    if (wrong := values[~np.isfinite(values)]).size:
        raise ValueError(f"weights: expected finite numbers. Received: {wrong[0]} as {values.dtype} in {weight.path}")
