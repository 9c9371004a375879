"""What a model says, and what it looked at: the same on a server, in Python and on the edge."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Answer:
    """One answer with its attention."""

    text: str
    score: float  # log-probability
    alternatives: tuple[tuple[str, float], ...]  # other answers with their scores, best first
    attention: np.ndarray  # [tokens out, tokens in]
    tokens_in: tuple[str, ...]
    tokens_out: tuple[str, ...]
