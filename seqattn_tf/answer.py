"""What a model says, and what it looked at: the same on a server, in Python and on the edge."""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np


@dataclasses.dataclass(frozen=True)
class Answer:
    """One answer with its attention."""

    text: str
    score: float  # log-probability
    alternatives: tuple[tuple[str, float], ...]  # other possible answers with their scores, best first
    attention: np.ndarray  # [tokens out, tokens in]
    tokens_in: tuple[str, ...]
    tokens_out: tuple[str, ...]

    @classmethod
    def from_outputs(cls, outputs: Mapping[str, np.ndarray], row: int) -> "Answer":
        """One row of the outputs of `serving_default`, its padding cut off; text may be `bytes` or `str`."""
        tokens_in, tokens_out = (
            tuple(_text(token) for token in outputs[side][row] if token) for side in ("tokens_in", "tokens_out")
        )
        scores = map(float, outputs["alternative_scores"][row])
        others = zip(map(_text, outputs["alternatives"][row]), scores, strict=True)
        return cls(
            text=_text(outputs["text"][row]),
            score=float(outputs["score"][row]),
            alternatives=tuple((text, score) for text, score in others if score > -math.inf),
            attention=outputs["attention"][row, : len(tokens_out), : len(tokens_in)],
            tokens_in=tokens_in,
            tokens_out=tokens_out,
        )


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
