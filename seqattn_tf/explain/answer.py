"""What an answer looked at, as a picture."""

import numpy as np
from matplotlib.figure import Figure

from seqattn_tf.answer import Answer
from seqattn_tf.explain.alignment import draw_alignment
from seqattn_tf.explain.grid import draw_grid
from seqattn_tf.explain.sheet import empty_answer


def draw_answer(question: str, answer: Answer, look: str = "", picture: np.ndarray | None = None) -> Figure:
    """Draws one look of an answer, under the question and what was said.

    Args:
        question: what was asked, as one line.
        answer: what came of it.
        look: the name of the look; the first where none is named.
        picture: what a look over a grid is drawn over, `[y, x, 3]` from 0 to 255.
    """
    title = f"{question} \u2192 {answer.text}" if question else answer.text
    if look and look not in answer.looks:
        raise ValueError(f"look: expected one of {sorted(answer.looks)}. Received: {look!r}")
    if not answer.looks:
        return empty_answer(title)
    seen = answer.looks[look or next(iter(answer.looks))]
    if seen.weights.ndim == 3:
        return draw_grid(seen.weights, seen.rows, picture=picture, title=title)
    return draw_alignment(seen.weights, seen.places, seen.rows, title=title)
