"""A whole number."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.lite.targets.base import Target

LARGEST = 999_999_936.0  # the largest answer; much larger ones do not fit into 32-bit integers


def _finite(value: Any) -> float:
    """Return a value as a number that is finite in 32 bits, too."""
    try:
        number = float(value)
        if abs(number) <= float(np.finfo(np.float32).max):  # False for NaN
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"expected a finite number. Received: {value!r:.80}")


class Number(Target):
    """A whole number; the output is `numbers [batch, 1]`, which is rounded for the answer.

    The score of an answer is 0, since the model computes no probability.

    >>> import numpy as np
    >>> Number().format_row({"numbers": np.array([-7.6]), "scores": np.array([0.0])})["text"]
    '-8'
    """

    name_in_registry = "number"
    names = ("numbers",)
    size = 1  # the number of outputs of a row

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """Return the number, `[]`."""
        return {"numbers": np.array(_finite(value), np.float32)}

    def normalize(self, value: Any) -> str:
        """Return the number as text, without a fraction if it is a whole number."""
        number = _finite(value)
        return str(int(number)) if number == int(number) else str(value)

    def tokens(self, found: Mapping[str, np.ndarray], answer: int) -> list[str]:
        """Return the rounded number as the only token."""
        number = np.float32(found["numbers"][answer])
        number = np.clip(np.round(number), -LARGEST, LARGEST) if number == number else 0.0
        return [str(int(number))]

    def text(self, tokens: Sequence[str]) -> str:
        return "".join(tokens)

    def get_config(self) -> dict[str, Any]:
        return {}
