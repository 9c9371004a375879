"""Settings: fields of a dataclass with a description."""

import dataclasses
from typing import Any


def setting(default: Any, meaning: str) -> Any:
    """Return a dataclass field with a default value and the description shown by `seqattn train RECIPE --help`."""
    return dataclasses.field(default=default, metadata={"meaning": meaning})
