"""A whole number."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.lite.targets.base import Target

LARGEST = 999_999_936.0  # that is said: a larger one is no whole number in 32 bits


def _finite(value: Any) -> float:
    """A value as a number that is finite, also in 32 bits."""
    try:
        number = float(value)
        if abs(number) <= float(np.finfo(np.float32).max):  # False of NaN
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"expected a number that is finite. Received: {value!r:.80}")


class Number(Target):
    """A whole number; found are `numbers [batch, 1]`, which are rounded when they are said.

    Its score is 0: the model does not say how sure it is.

    >>> import numpy as np
    >>> Number().say_row({"numbers": np.array([-7.6]), "scores": np.array([0.0])})["text"]
    '-8'
    """

    name_in_registry = "number"
    names = ("numbers",)
    size = 1  # numbers that a network gives for a row

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """The number: `[]`."""
        return {"numbers": np.array(_finite(value), np.float32)}

    def said(self, value: Any) -> str:
        """Without a fraction, where it has none."""
        number = _finite(value)
        return str(int(number)) if number == int(number) else str(value)

    def tokens(self, found: Mapping[str, np.ndarray], answer: int) -> list[str]:
        """The number, as one token."""
        number = np.float32(found["numbers"][answer])
        number = np.clip(np.round(number), -LARGEST, LARGEST) if number == number else 0.0
        return [str(int(number))]

    def text(self, tokens: Sequence[str]) -> str:
        """The number itself."""
        return "".join(tokens)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments: none."""
        return {}
