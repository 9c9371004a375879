"""Segments: which neighbouring symbols of the source were read together, for each symbol that was said."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seqattn_tf.explain.sheet import BLUES, QUIET, make_legible, page, text_style
from seqattn_tf.lite.answer import Look

_CELL, _ROW, _GAP, LEFT = 0.21, 0.155, 0.34, 1.15  # inches
_SHARE = 0.5  # of the largest weight of a word, from which on a symbol belongs to a segment


class Segment(NamedTuple):
    """A run of source symbols."""

    first: int
    last: int  # included
    weight: float  # mean


def segments(weights: np.ndarray, share: float = _SHARE) -> list[Segment]:
    """The runs of neighbours whose weight is at least that share of the largest: `[source] -> segments`.

    >>> segments(np.array([0.4, 0.25, 0.1, 0.25]))
    [Segment(first=0, last=1, weight=0.325), Segment(first=3, last=3, weight=0.25)]
    """
    weights = np.asarray(weights)
    kept = np.flatnonzero((weights >= share * weights.max(initial=0)) & (weights > 0))
    runs = np.split(kept, np.flatnonzero(np.diff(kept) > 1) + 1) if kept.size else []
    return [Segment(int(run[0]), int(run[-1]), float(np.mean(weights[run]))) for run in runs]


def draw_segments(looks: Sequence[Look], share: float = _SHARE, columns: int = 2) -> Figure:
    """Draws, for each look, the source in a line and below it a bar for each run of symbols a word was read from.

    The darker a bar, the larger its mean weight compared with the largest of the look.

    Args:
        looks: of answers of one model.
        share: of the largest weight of a word, from which on a symbol belongs to a segment.
        columns: of the picture.

    >>> look = Look(np.array([[0.9, 0.8, 0.1]]), ("he",), ("\u5f7c", "\u306f", "\u3002"))
    >>> figure = draw_segments([look])
    """
    if not looks:
        raise ValueError("looks: expected at least one. Received: none")
    columns = min(columns, len(looks))
    lines = [looks[i : i + columns] for i in range(0, len(looks), columns)]
    heights = [_GAP + _ROW * (1 + max(len(look.rows) for look in line)) for line in lines]
    width = LEFT + _CELL * max(max(len(look.places) for look in looks), 8) + 0.3
    whole = columns * width, sum(heights) + 0.2
    figure = page(*whole)
    top = whole[1] - 0.1
    for line, height in zip(lines, heights, strict=True):
        for place, look in enumerate(line):
            where = place * width / whole[0], (top - height) / whole[1], width / whole[0], height / whole[1]
            axes = figure.add_axes(where)
            _draw(axes, look, share, width, height)
        top -= height
    return figure


def _draw(axes: Axes, look: Look, share: float, width: float, height: float) -> None:
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    largest = look.weights.max(initial=0)
    for column, symbol in enumerate(look.places):
        axes.text(LEFT + _CELL * (column + 0.5), _ROW, make_legible(symbol), ha="center", va="center", **text_style(9))
    for row, (word, weights) in enumerate(zip(look.rows, look.weights, strict=True)):
        y = _ROW * (row + 2.1)
        axes.text(LEFT - 0.08, y, make_legible(word), ha="right", va="center", **text_style(7.5))
        axes.plot([LEFT, LEFT + _CELL * len(look.places)], [y, y], color=QUIET, alpha=0.25, linewidth=0.4, zorder=0)
        for segment in segments(weights, share):
            left, length = LEFT + _CELL * segment.first + 0.02, _CELL * (segment.last - segment.first + 1) - 0.04
            colour = BLUES(0.15 + 0.85 * segment.weight / largest)
            axes.barh(y, length, left=left, height=_ROW * 0.62, color=colour, linewidth=0)
