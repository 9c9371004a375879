"""The facts of a story in a column, with the weight of each fact in every hop beside it.

Where is Mary?
                                          hop 1   hop 2
 1       Mary went to the kitchen.                 0.04
 2    2  Mary took the milk.               0.01    0.93
         ... 37 facts
40   /   John went to the garden.
41  1    Mary left.                        0.97
-> garden
"""

import itertools
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, PathPatch, Rectangle
from matplotlib.path import Path

from seqattn_tf.explain.alignment import largest_of
from seqattn_tf.explain.sheet import (
    BLUES,
    COLOURS,
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

# Sizes in inches, fonts in points.
_SIZE, SMALL, _SAID = 11, 8.5, 13
_ROW, _BETWEEN, _SKIP = 0.22, 0.08, 0.24  # a row of a fact, between facts, in place of omitted facts
_ABOVE, _BELOW = 0.3, 0.38  # for the names of the hops, for the answer
_BESIDE, _NARROWEST = 0.12, 3.4  # between columns; the minimum width of a page
_SLOT, _RADIUS = 0.25, 0.095  # the column of a hop's mark, and the radius of the mark
_CELL, _SEAM = 0.52, 0.05
_FIT, _LONGEST = 60, 180  # characters of a row, of a fact
FEW = 20  # the maximum number of facts of a story that is shown completely
_NEAR = 1  # facts shown before and after a chosen one
_LEAST = 0.05  # the minimum weight of other facts that are shown
MOST = 30  # the maximum number of these
_FAINT = 0.005  # smaller weights are not printed
MARK = COLOURS[1]


def draw_facts(
    facts: Sequence[str],
    weights: Sequence[Sequence[float]] | np.ndarray,
    chosen: Sequence[int] | np.ndarray,
    question: str = "",
    answer: str = "",
) -> Figure:
    """Draw the facts of a story with the weight of each in every hop, and a path through the chosen facts.

    Darker cells have larger weights. Of a long story only facts with enough weight or next to a chosen one are shown;
    the number of omitted facts is shown in their place.

    Args:
        facts: The sentences of the story, in order.
        weights: The attention weights `[look, fact]`, finite and not negative.
        chosen: The number of the fact that each hop chose, from 1; 0 for none.
        question: A sentence above the figure.
        answer: The answer below the facts.

    >>> figure = draw_facts(["Mary left.", "John slept."], [[0.9, 0.1], [0.2, 0.8]], [1, 2], "Who slept?", "John")
    """
    table, numbers = _checked(weights, chosen, len(facts))
    if not len(facts):
        return empty_answer(question)
    rows = [_row(facts, place, numbers) for place in shown_facts(table, numbers)]
    columns = _columns(rows, len(facts), len(table))
    width = max(columns.end + MARGIN, _NARROWEST)
    gaps = gaps_of([row.place for row in rows], len(facts))
    inner = sum(row.height for row in rows) + _SKIP * sum(gap > 0 for gap in gaps)
    sheet = Sheet(width, _ABOVE + inner + (_BELOW if answer else 0), question)
    pen = _Pen(sheet.axes, columns, largest_of(table))
    y, heights = sheet.top - _ABOVE, {}
    pen.name_looks(y)
    for row, gap in itertools.zip_longest(rows, gaps):
        y = pen.gap(gap, y)
        if row is not None:
            heights[row.place + 1] = y - _ROW / 2
            y = pen.fact(row, table[:, row.place], y)
    pen.path([(look, heights[number]) for look, number in enumerate(numbers) if number])
    if answer:
        said = f"\u2192 {make_legible(answer, _FIT)}"
        pen.axes.text(MARGIN, MARGIN, said, **text_style(_SAID, COLOURS[0], va="bottom", fontweight="bold"))
    return sheet.figure


def shown_facts(weights: np.ndarray, chosen: Sequence[int]) -> list[int]:
    """Return the indices of the facts to show: all of a few, or the chosen ones, their neighbors and heavy ones.

    A single fact between shown ones is never omitted, since a note about it would take as much room.

    >>> weights = np.zeros([1, 40])
    >>> weights[0, [5, 20]] = 0.2, 0.8
    >>> shown_facts(weights, [21])
    [5, 19, 20, 21]
    """
    count = weights.shape[1]
    if count <= FEW:
        return [*range(count)]
    near = {number - 1 + step for number in chosen if number for step in range(-_NEAR, _NEAR + 1)}
    most = weights.max(axis=0)
    heavy = [place for place in np.argsort(-most, kind="stable").tolist() if most[place] >= _LEAST]
    shown = {place for place in {*near, *heavy[:MOST]} if 0 <= place < count} or {*range(FEW)}
    edges = {-1, *shown, count}
    return sorted(shown | {place for place in range(count) if {place - 1, place + 1} <= edges})


def gaps_of(shown: Sequence[int], count: int) -> list[int]:
    """Return how many of `count` facts are omitted before each one that is shown, and after the last.

    >>> gaps_of([0, 3, 4], 9)
    [0, 2, 0, 4]
    """
    return [after - before - 1 for before, after in itertools.pairwise([-1, *shown, count])]


def _checked(
    weights: Sequence[Sequence[float]] | np.ndarray, chosen: Sequence[int] | np.ndarray, count: int
) -> tuple[np.ndarray, list[int]]:
    table = np.asarray(weights, float)
    if table.ndim != 2 or table.shape[1] != count or not np.isfinite(table).all() or table.min(initial=0) < -1e-6:
        expected = f"[hop, fact] with {count} facts, finite and nonnegative"
        raise ValueError(f"weights: expected {expected}. Received: shape {table.shape}, {table!r:.80}")
    numbers = np.asarray(chosen)
    whole = numbers.shape == (len(table),) and (not len(table) or np.issubdtype(numbers.dtype, np.integer))
    if not whole or not ((numbers >= 0) & (numbers <= count)).all():
        expected = f"{len(table)} numbers from 0 to {count}, one for each hop"
        raise ValueError(f"chosen: expected {expected}. Received: {list(chosen)!r:.80}")
    return table.clip(min=0), numbers.tolist()


class _Row(NamedTuple):
    """The row of a fact."""

    place: int
    lines: list[str]
    looks: list[int]  # the hops that chose it

    @property
    def height(self) -> float:
        return _ROW * len(self.lines) + _BETWEEN


def _row(facts: Sequence[str], place: int, chosen: Sequence[int]) -> _Row:
    lines = textwrap.wrap(make_legible(facts[place], _LONGEST), _FIT, break_on_hyphens=False) or [""]
    return _Row(place, lines, [look for look, number in enumerate(chosen) if number == place + 1])


class _Columns(NamedTuple):
    """The left edges of columns, except for the numbers of the facts, where it is the right edge."""

    numbers: float
    marks: float
    texts: float
    cells: float
    end: float


def _columns(rows: Sequence[_Row], count: int, looks: int) -> _Columns:
    numbers = MARGIN + widest([str(count)], SMALL)
    marks = numbers + _BESIDE
    texts = marks + _SLOT * looks + _BESIDE / 2
    cells = texts + widest([line for row in rows for line in row.lines], _SIZE) + 2 * _BESIDE
    return _Columns(numbers, marks, texts, cells, cells + _CELL * looks)


class _Pen(NamedTuple):
    """A pen that draws the parts of a story from top to bottom."""

    axes: Axes
    columns: _Columns
    largest: float

    def name_looks(self, y: float) -> None:
        """Write the names of the hops above the cells."""
        looks = round((self.columns.end - self.columns.cells) / _CELL)
        for look in range(looks):
            x = self.columns.cells + _CELL * (look + 0.5)
            self.axes.text(x, y + 0.08, f"hop {look + 1}", **text_style(SMALL, QUIET, ha="center"))

    def gap(self, count: int, y: float) -> float:
        """Write the number of omitted facts, if any, and return where the next part starts."""
        if not count:
            return y
        style = text_style(SMALL, QUIET, va="center")
        self.axes.text(self.columns.texts, y - (_SKIP - _BETWEEN) / 2, f"\u2026 {count} facts", **style)
        return y - _SKIP

    def fact(self, row: _Row, weights: np.ndarray, y: float) -> float:
        """Draw the number, the sentence and the weights of a fact, and return where the next part starts."""
        middle, ink = y - _ROW / 2, INK if row.looks else QUIET
        style = text_style(SMALL, QUIET, ha="right", va="center_baseline")
        self.axes.text(self.columns.numbers, middle, str(row.place + 1), **style)
        for number, line in enumerate(row.lines):
            style = text_style(_SIZE, ink, va="center_baseline")
            self.axes.text(self.columns.texts, middle - _ROW * number, line, **style)
        for look, weight in enumerate(weights):
            self._cell(look, weight, middle, look in row.looks)
        return y - row.height

    def _cell(self, look: int, weight: float, middle: float, chosen: bool) -> None:
        x, tall, share = self.columns.cells + _CELL * look, _ROW + _BETWEEN - _SEAM, weight / self.largest
        ground = Rectangle((x + _SEAM / 2, middle - tall / 2), _CELL - _SEAM, tall, facecolor=BLUES(share))
        ground.set(edgecolor=MARK, linewidth=1.6 if chosen else 0)
        self.axes.add_patch(ground)
        if weight >= _FAINT:
            style = text_style(SMALL, PAPER if share > 0.55 else INK, ha="center", va="center_baseline")
            self.axes.text(x + _CELL / 2, middle, f"{weight:.2f}", **style)

    def path(self, steps: Sequence[tuple[int, float]]) -> None:
        """Draw marks with the numbers of the hops, each in a separate column, connected by lines."""
        at = [(self.columns.marks + _SLOT * (look + 0.5), y) for look, y in steps]
        for (x, y), (end, low) in itertools.pairwise(at):
            middle = (y + low) / 2
            curve = Path([(x, y), (x, middle), (end, middle), (end, low)], [Path.MOVETO, *[Path.CURVE4] * 3])
            self.axes.add_patch(PathPatch(curve, facecolor="none", edgecolor=MARK, linewidth=1.2))
        for (look, _), where in zip(steps, at, strict=True):
            self.axes.add_patch(Circle(where, _RADIUS, facecolor=MARK, linewidth=0, zorder=2))
            style = text_style(SMALL, PAPER, ha="center", va="center_baseline", fontweight="bold")
            self.axes.text(*where, str(look + 1), zorder=3, **style)
