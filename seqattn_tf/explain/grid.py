"""Where a model looked in a picture: one small map for each symbol it said."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from seqattn_tf.explain.sheet import (
    BLUES,
    MARGIN,
    TITLE_LINE,
    empty_answer,
    make_legible,
    page,
    text_style,
    title_lines,
)

# Sizes in inches, fonts in points.
_SIDE, _GAP, LABEL, _SIZE = 1.35, 0.12, 0.24, 10
_ACROSS = 6  # maps in a row
HEAD = 0.7  # of an answer as a picture
_SHARP = 500  # pixels of a picture's longer side
OVER = LinearSegmentedColormap.from_list("over", [(0.0, 0.0, 0.0, 0.65), (1.0, 1.0, 1.0, 0.0)])  # light where looked


def draw_grid(
    weights: np.ndarray,
    rows: Sequence[str],
    *,
    picture: np.ndarray | None = None,
    title: str | None = None,
    said: np.ndarray | None = None,
) -> Figure:
    """Draws attention over a grid, a map for each row, over the picture where one is given.

    Args:
        weights: `[rows, height, width]`, finite, not negative.
        rows: what looked, in order.
        picture: `[y, x, 3]` from 0 to 255, which the grid covers.
        title: one sentence above.
        said: the answer as a picture, `[y, x, 3]`, which stands above the maps, beside what was asked.

    >>> figure = draw_grid(np.ones([2, 3, 3]) / 9, ["a", "dog"], title="a dog")
    """
    weights = np.asarray(weights, float)
    if weights.ndim != 3 or len(weights) != len(rows) or not np.isfinite(weights).all() or weights.min(initial=0) < 0:
        expected = f"[{len(rows)}, height, width], finite, none negative"
        raise ValueError(f"weights: expected {expected}. Received: shape {weights.shape}")
    if not weights.size:
        return empty_answer(title)
    if picture is not None:  # no more of it than can be seen
        step = max(max(picture.shape[:2]) // _SHARP, 1)
        picture = np.asarray(picture)[::step, ::step]
    across = min(len(rows), _ACROSS)
    down = math.ceil(len(rows) / across)
    tall = (
        _SIDE * weights.shape[1] / weights.shape[2] if picture is None else _SIDE * picture.shape[0] / picture.shape[1]
    )
    width = 2 * MARGIN + across * (_SIDE + _GAP) - _GAP
    lines = title_lines(title, max(width, 2.4) - 2 * MARGIN)
    head = 0.0 if said is None else HEAD + _GAP
    height = 2 * MARGIN + TITLE_LINE * len(lines) + head + down * (tall + LABEL + _GAP) - _GAP
    width = max(width, 2.4)
    figure = page(width, height, lines)
    top = height - MARGIN - TITLE_LINE * len(lines) - head
    shown = [one for one in (picture, said) if one is not None and said is not None]
    room = (width - 2 * MARGIN) / max(len(shown), 1)
    for number, one in enumerate(shown):
        axes = figure.add_axes(
            ((MARGIN + number * room) / width, (top + _GAP) / height, (room - _GAP) / width, HEAD / height)
        )
        axes.imshow(one / 255, aspect="equal")
        axes.set_axis_off()
    for number, (label, looked) in enumerate(zip(rows, weights, strict=True)):
        x = MARGIN + number % across * (_SIDE + _GAP)
        y = top - number // across * (tall + LABEL + _GAP) - LABEL
        figure.text((x + _SIDE / 2) / width, (y + 0.06) / height, make_legible(label), ha="center", **text_style(_SIZE))
        axes = figure.add_axes((x / width, (y - tall) / height, _SIDE / width, tall / height))
        axes.set_axis_off()
        scale, box = Normalize(0, looked.max() or 1), (0, 1, 0, 1)
        if picture is not None:
            axes.imshow(picture / 255, extent=box, aspect="auto")
        colours = BLUES if picture is None else OVER
        smooth = "nearest" if picture is None else "bilinear"
        axes.imshow(looked, cmap=colours, norm=scale, extent=box, aspect="auto", interpolation=smooth)
    return figure
