"""Attention over time: a sound or the frames of a clip, and below them a row for each symbol of the answer."""

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from seqattn_tf.explain.alignment import (
    BAR_GAP,
    BAR_LABELS,
    BAR_WIDTH,
    GAP,
    check_weights,
    colour_bar,
    largest_of,
)
from seqattn_tf.explain.sheet import BLUES, MARGIN, QUIET, Sheet, empty_answer, make_legible, text_style, widest

# Sizes in inches, fonts in points.
WIDE, TALL, _ROW, _BELOW, _SIZE = 6.5, 1.3, 0.26, 0.3, 10


def draw_timeline(
    weights: np.ndarray,
    rows: Sequence[str],
    places: Sequence[str],
    picture: np.ndarray,
    *,
    title: str | None = None,
) -> Figure:
    """Draw attention over time.

    Args:
        weights: The attention weights `[rows, places]`, finite and not negative.
        rows: The names of the queries, in order.
        places: The names of the positions, such as `"0.04 s"`.
        picture: An image of the sound or the clip over time, `[y, x, 3]` from 0 to 255, which the positions cover.
        title: A sentence above the figure.

    >>> figure = draw_timeline(np.eye(2), ["one", "two"], ["0.00 s", "0.04 s"], np.zeros([8, 8, 3]), title="one two")
    """
    rows = [make_legible(row) for row in rows]
    if not rows or not places:
        return empty_answer(title)
    weights = check_weights(weights, rows=len(rows), columns=len(places))
    left = MARGIN + widest(rows, _SIZE) + GAP
    width = left + WIDE + BAR_GAP + BAR_WIDTH + BAR_LABELS + MARGIN
    picture = np.asarray(picture)
    tall, shown = _ROW * len(rows), min(TALL, WIDE * picture.shape[0] / max(picture.shape[1], 1))
    sheet, low = Sheet(width, shown + GAP + tall + _BELOW, title), MARGIN + _BELOW
    above = sheet.add_axes(left, low + tall + GAP, WIDE, shown)
    above.imshow(picture / 255, aspect="auto")
    above.set_axis_off()
    axes, largest = sheet.add_axes(left, low, WIDE, tall), largest_of(weights)
    axes.pcolormesh(weights, cmap=BLUES, norm=Normalize(0, largest), linewidth=0)
    axes.invert_yaxis()
    axes.set_frame_on(False)
    axes.tick_params(length=0, pad=GAP * 72)
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows, **text_style(_SIZE))
    step, middle = -(-len(places) // 8), 0.0 if places[0].endswith(" s") else 0.5  # a time is the start of a position
    axes.set_xticks(np.arange(0, len(places), step) + middle, places[::step], **text_style(8, QUIET))
    bar = sheet.add_axes(left + WIDE + BAR_GAP, low, BAR_WIDTH, tall)
    colour_bar(sheet.figure, bar, largest, middle=tall > 0.9)
    return sheet.figure
