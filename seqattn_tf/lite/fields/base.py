"""The base class of fields: one raw input of a model each, in plain Python, so that a device can import it."""

import abc
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from seqattn_tf.core.registry import Registered

TOGETHER = "in one batch"  # in errors about values that are valid one by one but too large together


class Field(Registered, abc.ABC):
    """One raw input: the values that a user or a program provides, and the arrays that a network reads.

    A field has a name in the registry and names the widget of the web page in which a value is entered (`widget`). Its
    counterpart, the `inputs.GraphField` of the same name, does the same to a batch of strings inside a TensorFlow
    graph; a test checks that both agree.

    Attributes:
        limit: The maximum number of positions of a value; larger values are rejected.
        canvas: The height and width in pixels to which an image is padded and which a grid covers; None without
            padding.
    """

    registry: ClassVar[dict[str, type]] = {}
    widget: ClassVar[str] = "text"
    limit: int
    canvas: tuple[int, int] | None = None

    @abc.abstractmethod
    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """Convert one value to the arrays that a network reads, by part.

        Raises:
            ValueError: If the value is too long, malformed, or of another kind.
        """

    def positions(self, value: Any, level: str = "") -> tuple[str, ...]:
        """Return the names of the positions that attention can refer to; none for a grid.

        A value may have positions at several levels, one of which `level` selects.
        """
        return ()

    def picture(self, value: Any) -> np.ndarray | None:
        """Return the image `[y, x, 3]` from 0 to 255 on which an attention map is drawn, or None if there is none."""
        return None

    @abc.abstractmethod
    def sample_inputs(self, count: int, seed: int = 0) -> Sequence[str | bytes]:
        """Return random values, which depend only on the seed, for verification and warm-up."""

    def edge_cases(self) -> list[str | bytes]:
        """Return extreme values for verification."""
        return []

    @classmethod
    def raw(cls, value: Any) -> bytes:
        """Return a value as bytes, as it is sent.

        Raises:
            ValueError: If it is neither text nor bytes, nor an object whose method `read` returns bytes.
        """
        if isinstance(value, str):
            return value.encode("utf-8", "replace")
        if hasattr(value, "read"):
            value = value.read()
        if not isinstance(value, bytes):
            raise ValueError(f"expected text or bytes. Received: {value!r:.80}")
        return value

    def display(self, value: Any) -> bytes:
        """Return a value as a user would write it, so that it can be shown as an example."""
        return self.raw(value)

    @abc.abstractmethod
    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, in the form stored as JSON."""

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Field":
        """Create the field from its constructor arguments."""
        return cls(**config)


def read_row(fields: Mapping[str, Field], row: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Convert one row to the arrays that a network reads, by `INPUT_PART`.

    Raises:
        ValueError: If a field rejects its value, or if a file cannot be read; the message starts with the name of the
            input.
    """
    found = {}
    for name, field in fields.items():
        try:
            found.update({f"{name}_{part}": array for part, array in field.arrays(row[name]).items()})
        except (ValueError, OSError) as error:
            raise ValueError(f"{name}: {error}") from None
    return found


def row_fault(fields: Mapping[str, Field], row: Mapping[str, Any]) -> str:
    """Return the error message of `read_row` for a row, or an empty string if the row is valid."""
    try:
        read_row(fields, row)
    except ValueError as error:
        return str(error)
    return ""


def save_fields(fields: Mapping[str, Field]) -> list[dict[str, Any]]:
    """Return a description of fields by name, in their order, that can be stored as JSON."""
    return [
        {"name": name, "field": field.name_in_registry, "config": field.get_config()} for name, field in fields.items()
    ]


def load_fields(saved: Iterable[Mapping[str, Any]]) -> dict[str, Field]:
    """Create the fields that `save_fields` described."""
    return {entry["name"]: Field.member(entry["field"]).from_config(entry["config"]) for entry in saved}
