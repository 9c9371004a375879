"""Alignment maps side by side: what several attentions looked at in one sentence, and what they should have."""

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
from seqattn_tf.explain.sheet import (
    MARGIN,
    TITLE_LINE,
    empty_answer,
    make_legible,
    page,
    text_style,
    title_lines,
    widest,
)

# Sizes in inches, fonts in points.
SIDE = 2.8  # the longer side of a map, as long as its tiles stay large
_PAGE = 12.0  # the width that maps beside each other may take
_BESIDE, _BELOW, _BELOW_TITLE = 0.3, 0.2, 0.1  # between maps; below the title
_HEADING, _HEADING_LINE = 11, 0.16


def draw_alignments(
    maps: Mapping[str, np.ndarray], source: Sequence[str], target: Sequence[str], *, title: str | None = None
) -> Figure:
    """Draws several maps of the same symbols on one page, all on one scale, as many in a row as have room.

    The scale goes from 0 to the largest weight of all, so that the same colour is the same weight in every map. Rows
    are named on the left of the page, columns above every map.

    Args:
        maps: for each heading its weights [target, source], finite, not negative; the true alignment goes last.
        source: the symbols looked at, one for each column.
        target: the symbols produced, one for each row.
        title: one sentence above all.

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
    across = max(wide, widest(headings, _HEADING)) + max(_BESIDE, plan.over)  # from map to map
    down = _HEADING_LINE + plan.above + tall + _BELOW
    columns = _columns(len(maps), int((_PAGE - plan.left) / across))
    width = plan.left + columns * across - _BESIDE + BAR_GAP + BAR_WIDTH + BAR_LABELS + MARGIN
    lines = title_lines(title, width - 2 * MARGIN)
    above = MARGIN + (TITLE_LINE * len(lines) + _BELOW_TITLE if lines else 0.0)
    height = above + math.ceil(len(maps) / columns) * down - _BELOW + MARGIN
    figure = page(width, height, lines)
    for number, (heading, one) in enumerate(zip(headings, weights, strict=True)):
        x = plan.left + number % columns * across
        top = height - above - number // columns * down
        y = top - _HEADING_LINE - plan.above - tall
        figure.text(x / width, top / height, heading, va="top", ha="left", **text_style(_HEADING, weight="bold"))
        axes = figure.add_axes((x / width, y / height, wide / width, tall / height))
        draw_map(axes, one, largest, plan)
        name_symbols(axes, source, target if number % columns == 0 else [], plan)
    x = (width - MARGIN - BAR_LABELS - BAR_WIDTH) / width
    bar = figure.add_axes((x, MARGIN / height, BAR_WIDTH / width, tall / height))
    colour_bar(figure, bar, largest, middle=tall > 0.9)
    return figure


def _columns(count: int, fit: int) -> int:
    """How many maps stand in a row, when so many have room: rows are as full as each other.

    >>> _columns(4, 3), _columns(4, 9), _columns(4, 0)
    (2, 4, 1)
    """
    return math.ceil(count / math.ceil(count / max(fit, 1)))
