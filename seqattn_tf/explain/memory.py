"""The slots that a memory cell writes and reads over time."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from seqattn_tf.explain.alignment import check_weights
from seqattn_tf.explain.alignments import draw_alignments
from seqattn_tf.explain.sheet import empty_answer

_USED = 0.1  # slots whose weights are always below this value are omitted
_SAYS = "\u2192 "  # prefix of a generated symbol


def draw_memory(
    wrote: np.ndarray, read: np.ndarray, heard: Sequence[str], said: Sequence[str], *, title: str | None = None
) -> Figure:
    """Draw where a memory cell writes and reads, with a row for each step and a column for each slot that is used.

    Args:
        wrote, read: The weights [steps, slots] of either head, finite and not negative.
        heard: The symbols of the first steps, which are read.
        said: The symbols of the following steps, which are generated.
        title: A sentence above both maps.

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
    maps = {"write weights": wrote[:, used], "read weights": read[:, used]}
    return draw_alignments(maps, [str(slot + 1) for slot in used], steps, title=title)
