"""Alignment maps side by side: the weights of several attentions in one sentence, and the true alignment."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from seqattn_tf.explain.alignment import (
    BAR_GAP,
    BAR_LABELS,
    BAR_WIDTH,
    check_weights,
    colour_bar,
    draw_map,
    largest_of,
    name_symbols,
    plan_map,
)
from seqattn_tf.explain.sheet import MARGIN, Sheet, empty_answer, make_legible, text_style, widest

# Sizes in inches, fonts in points.
SIDE = 2.8  # the longer side of a map whose tiles are large enough
_PAGE = 12.0  # the maximum width of maps side by side
_BESIDE, _BELOW, _BELOW_TITLE = 0.3, 0.2, 0.1  # between maps; below the title
_HEADING, _HEADING_LINE = 11, 0.16


def draw_alignments(
    maps: Mapping[str, np.ndarray], source: Sequence[str], target: Sequence[str], *, title: str | None = None
) -> Figure:
    """Draw several maps of the same symbols on one page and on one scale, with as many in a row as fit.

    The scale ranges from 0 to the largest weight of all maps, so that a color represents the same weight in every map.
    Rows are named at the left of the page, columns above every map.

    Args:
        maps: The weights [target, source] by heading, finite and not negative; the true alignment comes last.
        source: The symbols attended to, one for each column.
        target: The generated symbols, one for each row.
        title: A sentence above all maps.

    >>> maps = {"softmax": np.full([2, 2], 0.5), "true": np.eye(2)}
    >>> figure = draw_alignments(maps, ["h", "i"], ["HH", "AY"], title="hi")
    """
    if not maps:
        raise ValueError("maps: expected at least one. Received: none")
    source, target = [make_legible(symbol) for symbol in source], [make_legible(symbol) for symbol in target]
    if not source or not target:
        return empty_answer(title)
    weights = [
        check_weights(one, len(target), len(source), f"maps[{name!r}]: expected weights") for name, one in maps.items()
    ]
    headings, largest = [make_legible(name) for name in maps], max(map(largest_of, weights))

    plan = plan_map(source, target, SIDE)
    wide, tall = plan.tile * len(source), plan.tile * len(target)
    across = max(wide, widest(headings, _HEADING)) + max(_BESIDE, plan.over)  # distance between the left edges of maps
    down = _HEADING_LINE + plan.above + tall + _BELOW
    columns = _columns(len(maps), int((_PAGE - plan.left) / across))
    width = plan.left + columns * across - _BESIDE + BAR_GAP + BAR_WIDTH + BAR_LABELS + MARGIN
    gap = _BELOW_TITLE if title else 0.0
    sheet = Sheet(width, gap + math.ceil(len(maps) / columns) * down - _BELOW, title)
    for number, (heading, one) in enumerate(zip(headings, weights, strict=True)):
        x = plan.left + number % columns * across
        top = sheet.top - gap - number // columns * down
        y = top - _HEADING_LINE - plan.above - tall
        sheet.label(x, top, heading, va="top", ha="left", **text_style(_HEADING, weight="bold"))
        axes = sheet.add_axes(x, y, wide, tall)
        draw_map(axes, one, largest, plan)
        name_symbols(axes, source, target if number % columns == 0 else [], plan)
    bar = sheet.add_axes(width - MARGIN - BAR_LABELS - BAR_WIDTH, MARGIN, BAR_WIDTH, tall)
    colour_bar(sheet.figure, bar, largest, middle=tall > 0.9)
    return sheet.figure


def _columns(count: int, fit: int) -> int:
    """Return the number of maps in a row if at most `fit` have room, so that rows are equally full.

    >>> _columns(4, 3), _columns(4, 9), _columns(4, 0)
    (2, 4, 1)
    """
    return math.ceil(count / math.ceil(count / max(fit, 1)))
