"""A story as it was read: its facts one below the other, beside each its weight under every look.

Where is Mary?
                                          look 1  look 2
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
    TITLE_LINE,
    empty_answer,
    inches,
    make_legible,
    page,
    text_style,
    title_lines,
    widest,
)

# Sizes in inches, fonts in points.
_SIZE, SMALL, _SAID = 11, 8.5, 13
_ROW, _BETWEEN, _SKIP = 0.22, 0.08, 0.24  # a row of a fact, between facts, where some are left out
_ABOVE, _BELOW = 0.3, 0.38  # for the names of the looks, for the answer
_BESIDE, _NARROWEST = 0.12, 3.4  # between columns; of a page
_SLOT, _RADIUS = 0.25, 0.095  # of the mark of a look, in a column of its own
_CELL, _SEAM = 0.52, 0.05
_FIT, _LONGEST = 60, 180  # characters of a row, of a fact
FEW = 20  # facts of a story that is shown whole
_NEAR = 1  # facts before and after a chosen one
_LEAST = 0.05  # the weight from which on others are shown
MOST = 30  # of these
_FAINT = 0.005  # below it a weight is not printed
MARK = COLOURS[1]


def draw_facts(
    facts: Sequence[str],
    weights: Sequence[Sequence[float]] | np.ndarray,
    chosen: Sequence[int] | np.ndarray,
    question: str = "",
    answer: str = "",
) -> Figure:
    """Draws the facts of a story, beside each its weight under every look, and a path through the chosen ones.

    The darker a cell, the larger its weight. Of a long story those are shown that have weight or are beside a chosen
    one; how many are left out is said where they are.

    Args:
        facts: the sentences of the story, in order.
        weights: `[look, fact]`, finite, not negative.
        chosen: the number of the fact that each look chose, from 1; 0 for none.
        question: one sentence above.
        answer: what was said, below.

    >>> figure = draw_facts(["Mary left.", "John slept."], [[0.9, 0.1], [0.2, 0.8]], [1, 2], "Who slept?", "John")
    """
    table, numbers = _checked(weights, chosen, len(facts))
    if not len(facts):
        return empty_answer(question)
    rows = [_row(facts, place, numbers) for place in shown_facts(table, numbers)]
    columns = _columns(rows, len(facts), len(table))
    width = max(columns.end + MARGIN, _NARROWEST)
    titles = title_lines(question, width - 2 * MARGIN)
    gaps = gaps_of([row.place for row in rows], len(facts))
    inner = sum(row.height for row in rows) + _SKIP * sum(gap > 0 for gap in gaps)
    height = 2 * MARGIN + TITLE_LINE * len(titles) + _ABOVE + inner + (_BELOW if answer else 0)
    figure = page(width, height, titles)
    pen = _Pen(inches(figure), columns, largest_of(table))
    y, heights = height - MARGIN - TITLE_LINE * len(titles) - _ABOVE, {}
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
    return figure


def shown_facts(weights: np.ndarray, chosen: Sequence[int]) -> list[int]:
    """The places of the facts to show: all of a few, else the chosen ones, those beside them, and those with weight.

    No single fact is left out: to say so would take as much room.

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
    """How many of so many facts are left out before each that is shown, and after the last.

    >>> gaps_of([0, 3, 4], 9)
    [0, 2, 0, 4]
    """
    return [after - before - 1 for before, after in itertools.pairwise([-1, *shown, count])]


def _checked(
    weights: Sequence[Sequence[float]] | np.ndarray, chosen: Sequence[int] | np.ndarray, count: int
) -> tuple[np.ndarray, list[int]]:
    table = np.asarray(weights, float)
    if table.ndim != 2 or table.shape[1] != count or not np.isfinite(table).all() or table.min(initial=0) < -1e-6:
        expected = f"[look, fact] with {count} facts, finite, none negative"
        raise ValueError(f"weights: expected {expected}. Received: shape {table.shape}, {table!r:.80}")
    numbers = np.asarray(chosen)
    whole = numbers.shape == (len(table),) and (not len(table) or np.issubdtype(numbers.dtype, np.integer))
    if not whole or not ((numbers >= 0) & (numbers <= count)).all():
        expected = f"{len(table)} numbers from 0 to {count}, one for each look"
        raise ValueError(f"chosen: expected {expected}. Received: {list(chosen)!r:.80}")
    return table.clip(min=0), numbers.tolist()


class _Row(NamedTuple):
    """A fact."""

    place: int
    lines: list[str]
    looks: list[int]  # that chose it

    @property
    def height(self) -> float:
        return _ROW * len(self.lines) + _BETWEEN


def _row(facts: Sequence[str], place: int, chosen: Sequence[int]) -> _Row:
    lines = textwrap.wrap(make_legible(facts[place], _LONGEST), _FIT, break_on_hyphens=False) or [""]
    return _Row(place, lines, [look for look, number in enumerate(chosen) if number == place + 1])


class _Columns(NamedTuple):
    """Where columns begin, but for the numbers of the facts, which end there."""

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
    """Draws the parts of a story from top to bottom."""

    axes: Axes
    columns: _Columns
    largest: float

    def name_looks(self, y: float) -> None:
        """Above the cells."""
        looks = round((self.columns.end - self.columns.cells) / _CELL)
        for look in range(looks):
            x = self.columns.cells + _CELL * (look + 0.5)
            self.axes.text(x, y + 0.08, f"look {look + 1}", **text_style(SMALL, QUIET, ha="center"))

    def gap(self, count: int, y: float) -> float:
        """How many facts are left out, if any; returns where the next begins."""
        if not count:
            return y
        style = text_style(SMALL, QUIET, va="center")
        self.axes.text(self.columns.texts, y - (_SKIP - _BETWEEN) / 2, f"\u2026 {count} facts", **style)
        return y - _SKIP

    def fact(self, row: _Row, weights: np.ndarray, y: float) -> float:
        """Its number, its sentence and its weights; returns where the next begins."""
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
        """Marks with the numbers of the looks, each in its own column, and a line from each to the next."""
        at = [(self.columns.marks + _SLOT * (look + 0.5), y) for look, y in steps]
        for (x, y), (end, low) in itertools.pairwise(at):
            middle = (y + low) / 2
            curve = Path([(x, y), (x, middle), (end, middle), (end, low)], [Path.MOVETO, *[Path.CURVE4] * 3])
            self.axes.add_patch(PathPatch(curve, facecolor="none", edgecolor=MARK, linewidth=1.2))
        for (look, _), where in zip(steps, at, strict=True):
            self.axes.add_patch(Circle(where, _RADIUS, facecolor=MARK, linewidth=0, zorder=2))
            style = text_style(SMALL, PAPER, ha="center", va="center_baseline", fontweight="bold")
            self.axes.text(*where, str(look + 1), zorder=3, **style)
