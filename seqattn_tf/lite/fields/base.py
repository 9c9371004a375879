"""The contract of a field: one raw input of a model, in plain Python, so that a device can import it."""

import abc
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from seqattn_tf.core.registry import Registered

TOGETHER = "in one batch"  # in what is said of values that are too many together, and not too large alone


class Field(Registered, abc.ABC):
    """One raw input: what a person or a program gives, and the arrays that a network reads.

    A field names itself, and says which input of the page draws it (`kind`). Its twin, the `inputs.GraphField` of the
    same name, does the same to a batch of strings inside a TensorFlow graph; a test holds the two together.

    Attributes:
        limit: the most places of a value; more is refused.
        page: rows and columns of pixels to which a picture is padded and that a grid lies over; None where it is not.
    """

    registry: ClassVar[dict[str, type]] = {}
    kind: ClassVar[str] = "text"
    limit: int
    page: tuple[int, int] | None = None

    @abc.abstractmethod
    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """What a network reads of one value, by part.

        Raises:
            ValueError: the value is too long, broken, or of another kind.
        """

    def places(self, value: Any, level: str = "") -> tuple[str, ...]:
        """What attention may point at, at a level of the value where it has several; none of a grid."""
        return ()

    def picture(self, value: Any) -> np.ndarray | None:
        """What a look is drawn over or under, `[y, x, 3]` from 0 to 255; None where there is nothing to see."""
        return None

    @abc.abstractmethod
    def made_up(self, count: int, seed: int = 0) -> Sequence[str | bytes]:
        """Values nobody has seen, the same for the same seed: to verify with, and to warm up."""

    def odd(self) -> list[str | bytes]:
        """Values at the edges of what may come: to verify with, as well."""
        return []

    @classmethod
    def raw(cls, value: Any) -> bytes:
        """A value as it is sent.

        Raises:
            ValueError: it is neither text nor bytes, nor something with a method `read` that gives bytes.
        """
        if isinstance(value, str):
            return value.encode("utf-8", "replace")
        if hasattr(value, "read"):
            value = value.read()
        if not isinstance(value, bytes):
            raise ValueError(f"expected text or bytes. Received: {value!r:.80}")
        return value

    def shown(self, value: Any) -> bytes:
        """A value as a person would write it: to be shown as an example, and asked."""
        return self.raw(value)

    @abc.abstractmethod
    def get_config(self) -> dict[str, Any]:
        """Constructor arguments, as JSON holds them."""

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Field":
        """The field of these constructor arguments."""
        return cls(**config)


def read_row(fields: Mapping[str, Field], row: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """What a network reads of one row, by `INPUT_PART`.

    Raises:
        ValueError: a value is refused by its field, or its file cannot be read; with the name of the input.
    """
    found = {}
    for name, field in fields.items():
        try:
            found.update({f"{name}_{part}": array for part, array in field.arrays(row[name]).items()})
        except (ValueError, OSError) as error:
            raise ValueError(f"{name}: {error}") from None
    return found


def row_fault(fields: Mapping[str, Field], row: Mapping[str, Any]) -> str:
    """Return what `read_row` says is wrong with a row; an empty text where nothing is."""
    try:
        read_row(fields, row)
    except ValueError as error:
        return str(error)
    return ""


def save_fields(fields: Mapping[str, Field]) -> list[dict[str, Any]]:
    """Fields by name as JSON holds them, in their order."""
    return [
        {"name": name, "field": field.name_in_registry, "config": field.get_config()} for name, field in fields.items()
    ]


def load_fields(saved: Iterable[Mapping[str, Any]]) -> dict[str, Field]:
    """The fields that `save_fields` described."""
    return {entry["name"]: Field.member(entry["field"]).from_config(entry["config"]) for entry in saved}
