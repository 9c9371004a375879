"""Attention over an image: one small map for each symbol of the answer."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from seqattn_tf.explain.sheet import BLUES, MARGIN, Sheet, empty_answer, make_legible, text_style

# Sizes in inches, fonts in points.
_SIDE, _GAP, LABEL, _SIZE = 1.35, 0.12, 0.24, 10
_ACROSS = 6  # maps in a row
HEAD = 0.7  # the height of an answer that is drawn as an image
_SHARP = 500  # pixels on the longer side of an image, approximately
OVER = LinearSegmentedColormap.from_list("over", [(0.0, 0.0, 0.0, 0.65), (1.0, 1.0, 1.0, 0.0)])  # light: large


def draw_grid(
    weights: np.ndarray,
    rows: Sequence[str],
    *,
    picture: np.ndarray | None = None,
    title: str | None = None,
    said: np.ndarray | None = None,
) -> Figure:
    """Draw attention over a grid, with a map for each row, over the image if there is one.

    Args:
        weights: The attention weights `[rows, height, width]`, finite and not negative.
        rows: The names of the queries, in order.
        picture: The image `[y, x, 3]` from 0 to 255 that the grid covers.
        title: A sentence above the figure.
        said: The answer as an image `[y, x, 3]`, drawn above the maps and next to the input image.

    >>> figure = draw_grid(np.ones([2, 3, 3]) / 9, ["a", "dog"], title="a dog")
    """
    weights = np.asarray(weights, float)
    if weights.ndim != 3 or len(weights) != len(rows) or not np.isfinite(weights).all() or weights.min(initial=0) < 0:
        expected = f"[{len(rows)}, height, width], finite and nonnegative"
        raise ValueError(f"weights: expected {expected}. Received: shape {weights.shape}")
    if not weights.size:
        return empty_answer(title)
    if picture is not None:  # reduce it to the resolution of the figure
        step = max(max(picture.shape[:2]) // _SHARP, 1)
        picture = np.asarray(picture)[::step, ::step]
    across = min(len(rows), _ACROSS)
    down = math.ceil(len(rows) / across)
    tall = (
        _SIDE * weights.shape[1] / weights.shape[2] if picture is None else _SIDE * picture.shape[0] / picture.shape[1]
    )
    width = max(2 * MARGIN + across * (_SIDE + _GAP) - _GAP, 2.4)
    head = 0.0 if said is None else HEAD + _GAP
    sheet = Sheet(width, head + down * (tall + LABEL + _GAP) - _GAP, title)
    top = sheet.top - head
    shown = [one for one in (picture, said) if one is not None and said is not None]
    room = (width - 2 * MARGIN) / max(len(shown), 1)
    for number, one in enumerate(shown):
        axes = sheet.add_axes(MARGIN + number * room, top + _GAP, room - _GAP, HEAD)
        axes.imshow(one / 255, aspect="equal")
        axes.set_axis_off()
    for number, (label, looked) in enumerate(zip(rows, weights, strict=True)):
        x = MARGIN + number % across * (_SIDE + _GAP)
        y = top - number // across * (tall + LABEL + _GAP) - LABEL
        sheet.label(x + _SIDE / 2, y + 0.06, make_legible(label), ha="center", **text_style(_SIZE))
        axes = sheet.add_axes(x, y - tall, _SIDE, tall)
        axes.set_axis_off()
        scale, box = Normalize(0, looked.max() or 1), (0, 1, 0, 1)
        if picture is not None:
            axes.imshow(picture / 255, extent=box, aspect="auto")
        colours = BLUES if picture is None else OVER
        smooth = "nearest" if picture is None else "bilinear"
        axes.imshow(looked, cmap=colours, norm=scale, extent=box, aspect="auto", interpolation=smooth)
    return sheet.figure
