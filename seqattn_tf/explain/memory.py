"""What a memory cell does over time: which slots it wrote, and which it read."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from seqattn_tf.explain.alignment import check_weights
from seqattn_tf.explain.alignments import draw_alignments
from seqattn_tf.explain.sheet import empty_answer

_USED = 0.1  # a slot that is never written or read by so much is left out
_SAYS = "\u2192 "  # stands before a symbol that is said


def draw_memory(
    wrote: np.ndarray, read: np.ndarray, heard: Sequence[str], said: Sequence[str], *, title: str | None = None
) -> Figure:
    """Draws where a memory cell wrote and where it read, a row for each step, a column for each slot that was used.

    Args:
        wrote, read: weights [steps, slots] of either head, finite, not negative.
        heard: the symbols of the first steps, which are read.
        said: those of the steps after them, which are said.
        title: one sentence above both.

    >>> figure = draw_memory(np.eye(3), np.eye(3)[[2, 0, 1]], ["a", "b"], ["a"], title="a b")
    >>> [axes.get_xticklabels()[0].get_text() for axes in figure.axes[:2]]
    ['1', '1']
    """
    steps = [*heard, *(_SAYS + symbol for symbol in said)]
    if not steps:
        return empty_answer(title)
    slots = np.shape(wrote)[-1]
    wrote = check_weights(wrote, len(steps), slots, "wrote: expected weights")
    read = check_weights(read, len(steps), slots, "read: expected weights")
    used = np.flatnonzero(np.maximum(wrote, read).max(axis=0) >= _USED)
    used = used if len(used) else np.arange(slots)
    maps = {"where it wrote": wrote[:, used], "where it read": read[:, used]}
    return draw_alignments(maps, [str(slot + 1) for slot in used], steps, title=title)
