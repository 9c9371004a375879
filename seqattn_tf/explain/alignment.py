"""Alignment maps: the attention weights of each target symbol over the source symbols.

    source:    H    E    A    R    T
    target  .--------------------------.
       HH   | ##                       |     one row per target symbol, one column per source symbol;
       AA1  |      ##  ###             |     the darker the tile, the larger the weight
       R    |               ###        |
       T    |                    ###   |
            '--------------------------'

Figures use only matplotlib's object API, without pyplot or global state, so they can be drawn in threads of a server.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from seqattn_tf.core.atomic_io import write_atomically
from seqattn_tf.explain.sheet import (
    BLUES,
    INK,
    MARGIN,
    PAPER,
    QUIET,
    Sheet,
    empty_answer,
    make_legible,
    text_style,
    widest,
)

_FORMATS = ("png", "svg", "pdf")
# Sizes in inches, fonts in points.
GAP = 0.07  # between the tiles and their labels
BAR_GAP, BAR_WIDTH, BAR_LABELS = 0.16, 0.09, 0.34
_SIDE = 6.5  # the longer side of a map whose tiles are large enough
_NARROWEST = 2.4  # leaves room for the title above a map of one symbol
_LONGEST_SIDE = 12.0  # tiles of longer maps shrink, and only every n-th symbol is named
_NUMBERS_UP_TO = 12  # the maximum number of symbols on the longer side for which weights are printed
_SMALLEST_NUMBER = 0.05


def draw_alignment(
    weights: np.ndarray, source: Sequence[str], target: Sequence[str], *, title: str | None = None
) -> Figure:
    """Draw attention weights as a heat map, with source symbols along the top and target symbols down the left.

    The scale ranges from 0 to the largest weight, rounded up to a tenth. In maps up to 12 x 12, weights from 0.05 are
    printed in the tiles. Without source or target symbols, the figure contains only "nothing to show". Characters that
    no installed font has are shown as code points, like `<30AB>`.

    Args:
        weights: The weights [target, source], finite and not negative.
        source: The symbols attended to, one for each column.
        target: The generated symbols, one for each row.
        title: A sentence above the map.

    >>> figure = draw_alignment(np.eye(2), ["h", "i"], ["HH", "AY"], title="hi")
    >>> save_figure(figure, "hi.png")  # doctest: +SKIP
    """
    source, target = [make_legible(symbol) for symbol in source], [make_legible(symbol) for symbol in target]
    if not source or not target:
        return empty_answer(title)
    weights = check_weights(weights, rows=len(target), columns=len(source))

    plan = plan_map(source, target)
    width, height = plan.tile * len(source), plan.tile * len(target)
    sheet = Sheet(max(plan.left + width + plan.right, _NARROWEST), plan.above + height, title)
    axes = sheet.add_axes(plan.left, MARGIN, width, height)
    largest = largest_of(weights)
    draw_map(axes, weights, largest, plan)
    name_symbols(axes, source, target, plan)

    bar = sheet.add_axes(plan.left + width + BAR_GAP, MARGIN, BAR_WIDTH, height)
    colour_bar(sheet.figure, bar, largest, middle=height > 0.9)
    return sheet.figure


def save_figure(figure: Figure, path: str | os.PathLike) -> None:
    """Save a figure as PNG, SVG or PDF, depending on the suffix, atomically, and create its parent folders."""
    kind = check_ending(path)
    with write_atomically(path) as aside:
        figure.savefig(aside, format=kind)


def check_ending(path: str | os.PathLike) -> str:
    """Return the image format that the suffix of a path indicates; raise an error for other suffixes."""
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in _FORMATS:
        raise ValueError(f"Expected a path that ends in .png, .svg or .pdf. Received: {os.fspath(path)!r}")
    return kind


def check_weights(weights: Any, rows: int, columns: int, what: str = "Expected weights") -> np.ndarray:
    """Return the weights as an array after checking that none is negative; `what` is the start of error messages."""
    expected = f"{what} of shape [target, source] = {(rows, columns)}"
    try:
        weights = np.asarray(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{expected}, an array of numbers. Received: {type(weights).__name__}: {error}") from error
    if weights.shape != (rows, columns):
        raise ValueError(f"{expected}. Received: shape {weights.shape}")
    if not np.isfinite(weights).all():
        row, column = np.argwhere(~np.isfinite(weights))[0]
        raise ValueError(f"{expected}, all finite. Received: {weights[row, column]} at [{row}, {column}]")
    if weights.min() < -1e-6:
        row, column = np.unravel_index(weights.argmin(), weights.shape)
        raise ValueError(f"{expected}, all nonnegative. Received: {weights[row, column]:g} at [{row}, {column}]")
    return weights.clip(min=0)


def largest_of(weights: np.ndarray) -> float:
    """Return the top of the scale: the largest weight rounded up to a tenth, or 1 for a map of zeros."""
    largest = weights.max()
    return math.ceil(round(largest * 10, 3)) / 10 or (0.1 if largest else 1.0)


@dataclass(frozen=True)
class Plan:
    """The measures of a map, in inches."""

    tile: float
    size: float  # font size of the symbols, in points
    step: int  # 1: every symbol is named; n: every n-th
    leaning: bool  # whether source symbols are rotated because they do not fit their tiles
    over: float  # how far the last rotated symbol extends beyond the map
    above: float  # space for source symbols
    left: float  # space for target symbols
    right: float  # space for the color bar, and for the last source symbol above it


def plan_map(source: Sequence[str], target: Sequence[str], side: float = _SIDE) -> Plan:
    """Compute the measures of a map of these symbols; `side` is the length of the longer side while tiles are large."""
    longer = max(len(source), len(target))
    tile = min(0.5, max(side / longer, 0.24), _LONGEST_SIDE / longer)
    size = min(11.0, max(tile * 72 * 0.45, 7.5))
    step = math.ceil(1.6 * size / 72 / tile)
    wide = widest(source, size)
    leaning = wide > tile - 0.05 or step > 1
    lean = wide * math.sqrt(0.5) if leaning else 0.0  # width and height of a line at 45 degrees
    over = max(lean - tile / 2, 0.0)
    return Plan(
        tile=tile,
        size=size,
        step=step,
        leaning=leaning,
        over=over,
        above=lean + 1.4 * size / 72 + 2 * GAP,
        left=MARGIN + widest(target, size) + GAP,
        right=max(BAR_GAP + BAR_WIDTH + BAR_LABELS, over) + MARGIN,
    )


# The parts of a figure


def draw_map(axes: Axes, weights: np.ndarray, largest: float, plan: Plan) -> None:
    """Draw the tiles of a map from top to bottom, with the weights in them if there are few."""
    scale = Normalize(0, largest)
    seam = min(1.2, plan.tile * 3) if plan.tile > 0.1 else 0
    axes.pcolormesh(weights, cmap=BLUES, norm=scale, edgecolors=PAPER, linewidth=seam)
    axes.invert_yaxis()
    if max(weights.shape) <= _NUMBERS_UP_TO:
        _print_weights(axes, weights, scale, min(9.0, plan.tile * 72 * 0.27))


def name_symbols(axes: Axes, source: Sequence[str], target: Sequence[str], plan: Plan) -> None:
    """Write source symbols along the top, and target symbols, if any, down the left."""
    axes.set_frame_on(False)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=GAP * 72)
    style, step = text_style(plan.size), plan.step
    lean: dict[str, Any] = {"rotation": 45, "ha": "left", "va": "bottom", "rotation_mode": "anchor"}
    above = {**style, **lean} if plan.leaning else style
    axes.set_xticks(np.arange(0, len(source), step) + 0.5, source[::step], **above)
    axes.set_yticks(np.arange(0, len(target), step) + 0.5, target[::step], **style)


def _print_weights(axes: Axes, weights: np.ndarray, scale: Normalize, size: float) -> None:
    for (row, column), weight in np.ndenumerate(weights):
        if weight >= _SMALLEST_NUMBER:
            colour = PAPER if scale(weight) > 0.55 else INK
            style = text_style(size, colour, ha="center", va="center_baseline")
            axes.text(column + 0.5, row + 0.5, f"{weight:.2f}", **style)


def colour_bar(figure: Figure, axes: Axes, largest: float, *, middle: bool) -> None:
    """Draw the color scale: 0, the largest weight, and half of it if there is room."""
    bar = figure.colorbar(ScalarMappable(Normalize(0, largest), BLUES), cax=axes)
    bar.outline.set_visible(False)
    ticks = [0, largest / 2, largest] if middle else [0, largest]
    bar.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks], **text_style(8, QUIET))
    axes.tick_params(length=0, pad=3)
