"""A text whose words are shaded by their attention weights, with the weights of its lines if there are any.

0.06 |       a slow start , and not much of a plot .
0.71 |#####  but the acting is superb !                  the darker a word, the larger its weight
0.23 |##     i would see it again .
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from seqattn_tf.explain.sheet import (
    BLUES,
    COLOURS,
    INK,
    MARGIN,
    PAPER,
    QUIET,
    Sheet,
    empty_answer,
    flow,
    make_legible,
    text_style,
    widths,
)

# Sizes in inches, fonts in points.
_SIZE, SMALL = 11, 8.5
_ROOM, _NARROWEST = 7.6, 3.0  # widths of a row
_ROW, _BETWEEN, _SKIP, _NOTE = 0.27, 0.08, 0.2, 0.22  # a row, between lines, in place of omitted lines, below all
_BELOW_TITLE = 0.04
_PAD, _GAP = 0.045, 0.02  # beside a word, between words
_NUMBER, BAR, _BESIDE = 0.32, 0.42, 0.14  # the weight of a line as a number and as a bar; from there to its words
_FAINT = 0.12  # share of the largest weight below which backgrounds fade to white
MOST = 40  # the maximum number of rows


def draw_highlight(
    words: Sequence[str],
    weights: Sequence[float] | np.ndarray,
    *,
    line_weights: Sequence[float] | np.ndarray | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a text with a background for every word that is darker for a larger weight, relative to the largest.

    With weights of lines, each line has a bar for its weight, and the weight of a word is multiplied by that of its
    line before words are compared. Of a long text only the lines with the largest weights are shown, in order.

    Args:
        words: The words of the text; a line break starts a new line.
        weights: One weight for each word, including line breaks; finite and not negative.
        line_weights: One weight for each line.
        title: A sentence above the figure.

    >>> figure = draw_highlight(["so", "good", "\\n", "bye"], [0.1, 0.9, 0, 1], line_weights=[0.8, 0.2])
    """
    tones = _checked("weights", weights, len(words))
    lines = _lines(words)
    bars = None if line_weights is None else _checked("line_weights", line_weights, len(lines))
    if not lines:
        return empty_answer(title)
    if bars is not None:
        for line, weight in zip(lines, bars, strict=True):
            tones[line] *= weight
    labels = [make_legible(word) for word in words]
    wide = [width + 2 * _PAD for width in widths(labels, _SIZE)]
    left, between = (0.0, 0.0) if bars is None else (_NUMBER + BAR + _BESIDE, _BETWEEN)
    wrapped = [_wrap(line, wide, _ROOM - left) for line in lines]
    if len(lines) == 1 and bars is None:  # treat rows as lines
        wrapped = [[row] for row in wrapped[0]]
    sums = [sum(tones[place] for row in rows for place, _ in row) for rows in wrapped]
    shown = _chosen([len(rows) for rows in wrapped], sums if bars is None else bars)
    skipped = [number for before, number in zip([-1, *shown], shown, strict=False) if number > before + 1]
    note = f"{len(shown)} of {len(wrapped)} lines: those with the largest weights" if len(shown) < len(wrapped) else ""

    ends = [x + wide[place] for number in shown for row in wrapped[number] for place, x in row[-1:]]
    width = 2 * MARGIN + max(left + max(ends, default=0.0), _NARROWEST if title or note else 0)
    inner = (
        sum(_ROW * len(wrapped[number]) + between for number in shown) + _SKIP * len(skipped) + (_NOTE if note else 0)
    )
    sheet = Sheet(width, _BELOW_TITLE + inner, title)
    axes, y = sheet.axes, sheet.top - _BELOW_TITLE
    for number in shown:
        if number in skipped:
            axes.text(MARGIN + left, y - _SKIP / 2, "\u22ef", **text_style(_SIZE, QUIET, va="center"))
            y -= _SKIP
        if bars is not None:
            _weigh(axes, bars[number], bars.max(), y - _ROW)
        for row in wrapped[number]:
            y -= _ROW
            for place, x in row:
                _tile(axes, labels[place], tones[place] / (tones.max() or 1), MARGIN + left + x, y, wide[place])
        y -= between
    axes.text(MARGIN, MARGIN, note, **text_style(SMALL, QUIET, va="bottom"))
    return sheet.figure


def _checked(name: str, weights: Sequence[float] | np.ndarray, count: int) -> np.ndarray:
    found = np.array(weights, float)  # a copy
    if found.shape != (count,) or not np.isfinite(found).all() or found.min(initial=0) < -1e-6:
        raise ValueError(f"{name}: expected {count} finite, nonnegative numbers. Received: {found!r:.80}")
    return found.clip(min=0)


def _lines(words: Sequence[str]) -> list[list[int]]:
    """Return the indices of the words of each line."""
    lines: list[list[int]] = [[]] if len(words) else []
    for place, word in enumerate(words):
        if word == "\n":
            lines.append([])
        else:
            lines[-1].append(place)
    return lines


def _wrap(line: Sequence[int], wide: Sequence[float], room: float) -> list[list[tuple[int, float]]]:
    """Wrap a line into rows of words with their `x`; a line without words is an empty row."""
    places = flow([wide[place] for place in line], room, _GAP)
    rows: list[list[tuple[int, float]]] = [[] for _ in range(places[-1][1] + 1 if places else 1)]
    for place, (x, row) in zip(line, places, strict=True):
        rows[row].append((place, x))
    return rows


def _chosen(rows: Sequence[int], weights: Sequence[float] | np.ndarray) -> list[int]:
    """Return the numbers of the lines to show, in order: those with the largest weights that fit, at least one."""
    chosen: list[int] = []
    for number in np.argsort(-np.asarray(weights), kind="stable").tolist():
        if not chosen or sum(rows[other] for other in chosen) + rows[number] <= MOST:
            chosen.append(number)
    return sorted(chosen)


def _tile(axes: Axes, word: str, tone: float, x: float, y: float, width: float) -> None:
    ground = Rectangle(
        (x, y + 0.02), width, _ROW - 0.04, facecolor=BLUES(tone), alpha=min(1.0, tone / _FAINT), linewidth=0
    )
    axes.add_patch(ground)
    axes.text(x + width / 2, y + 0.085, word, **text_style(_SIZE, PAPER if tone > 0.55 else INK, ha="center"))


def _weigh(axes: Axes, weight: float, largest: float, y: float) -> None:
    """Draw the weight of a line as a number and as a bar."""
    axes.text(MARGIN + _NUMBER - 0.06, y + 0.085, f"{weight:.2f}", **text_style(SMALL, QUIET, ha="right"))
    bar = Rectangle((MARGIN + _NUMBER, y + 0.06), BAR * weight / (largest or 1), _ROW - 0.12, facecolor=COLOURS[1])
    axes.add_patch(bar)
