"""Segments: runs of neighboring source symbols that were attended to together, for each symbol of the answer."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seqattn_tf.explain.sheet import BLUES, MARGIN, QUIET, Sheet, make_legible, text_style
from seqattn_tf.lite.answer import AttentionMap

_CELL, _ROW, _GAP, LEFT = 0.21, 0.155, 0.34, 1.15  # inches
_SHARE = 0.5  # share of a word's largest weight from which on a symbol belongs to a segment


class Segment(NamedTuple):
    """A run of source symbols."""

    first: int
    last: int  # inclusive
    weight: float  # the mean weight


def segments(weights: np.ndarray, share: float = _SHARE) -> list[Segment]:
    """Return runs of neighbors with at least this share of the largest weight: `[source] -> segments`.

    >>> segments(np.array([0.4, 0.25, 0.1, 0.25]))
    [Segment(first=0, last=1, weight=0.325), Segment(first=3, last=3, weight=0.25)]
    """
    weights = np.asarray(weights)
    kept = np.flatnonzero((weights >= share * weights.max(initial=0)) & (weights > 0))
    runs = np.split(kept, np.flatnonzero(np.diff(kept) > 1) + 1) if kept.size else []
    return [Segment(int(run[0]), int(run[-1]), float(np.mean(weights[run]))) for run in runs]


def draw_segments(looks: Sequence[AttentionMap], share: float = _SHARE, columns: int = 2) -> Figure:
    """Draw for each map the source in a line, with a bar for each run of symbols that a word of the answer attends to.

    Darker bars have larger mean weights, relative to the largest weight of the map.

    Args:
        looks: The attention maps, from answers of one model.
        share: The share of a word's largest weight from which on a symbol belongs to a segment.
        columns: The number of columns of the figure.

    >>> look = AttentionMap(np.array([[0.9, 0.8, 0.1]]), ("he",), ("\u5f7c", "\u306f", "\u3002"))
    >>> figure = draw_segments([look])
    """
    if not looks:
        raise ValueError("looks: expected at least one map. Received: none")
    columns = min(columns, len(looks))
    lines = [looks[i : i + columns] for i in range(0, len(looks), columns)]
    heights = [_GAP + _ROW * (1 + max(len(look.queries) for look in line)) for line in lines]
    width = LEFT + _CELL * max(max(len(look.keys) for look in looks), 8) + 0.3
    sheet = Sheet(columns * width, sum(heights) + 0.2 - 2 * MARGIN)
    top = sheet.height - 0.1
    for line, height in zip(lines, heights, strict=True):
        for place, look in enumerate(line):
            _draw(sheet.add_axes(place * width, top - height, width, height), look, share, width, height)
        top -= height
    return sheet.figure


def _draw(axes: Axes, look: AttentionMap, share: float, width: float, height: float) -> None:
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    largest = look.weights.max(initial=0)
    for column, symbol in enumerate(look.keys):
        axes.text(LEFT + _CELL * (column + 0.5), _ROW, make_legible(symbol), ha="center", va="center", **text_style(9))
    for row, (word, weights) in enumerate(zip(look.queries, look.weights, strict=True)):
        y = _ROW * (row + 2.1)
        axes.text(LEFT - 0.08, y, make_legible(word), ha="right", va="center", **text_style(7.5))
        axes.plot([LEFT, LEFT + _CELL * len(look.keys)], [y, y], color=QUIET, alpha=0.25, linewidth=0.4, zorder=0)
        for segment in segments(weights, share):
            left, length = LEFT + _CELL * segment.first + 0.02, _CELL * (segment.last - segment.first + 1) - 0.04
            colour = BLUES(0.15 + 0.85 * segment.weight / largest)
            axes.barh(y, length, left=left, height=_ROW * 0.62, color=colour, linewidth=0)
