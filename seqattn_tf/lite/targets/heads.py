"""Heads: the word that each word depends on."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from seqattn_tf.lite.targets.base import Target
from seqattn_tf.lite.targets.tags import listed, without_end

NONE = -1  # padding after the last word


class Heads(Target):
    """A head for each word: the number of a word from 1, or 0 for the root.

    The output is `heads [batch, answers, words]`, padded with -1 after the last word.

    >>> import numpy as np
    >>> Heads().format_row({"heads": np.array([[2, 0, 2, -1]]), "scores": np.array([-0.5])})["text"]
    '2 0 2'
    """

    name_in_registry = "heads"
    names: ClassVar[tuple[str, ...]] = ("heads",)

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """Return the heads `[words]`."""
        try:
            heads = np.array([int(head) for head in listed(value)], np.int32)
        except (TypeError, ValueError):
            raise ValueError(f"expected integers. Received: {value!r:.80}") from None
        if ((heads < 0) | (heads > len(heads))).any():
            raise ValueError(f"expected heads from 0 to {len(heads)}, the number of words. Received: {value!r:.80}")
        return {"heads": heads}

    def tokens(self, found: Mapping[str, np.ndarray], answer: int) -> list[str]:
        """Return the heads as decimal numbers."""
        return without_end(["" if head == NONE else str(head) for head in found["heads"][answer].tolist()])

    def normalize(self, value: str | Sequence[int]) -> str:
        """Return the numbers separated by spaces."""
        return " ".join(map(str, listed(value)))

    def get_config(self) -> dict[str, Any]:
        return {}
