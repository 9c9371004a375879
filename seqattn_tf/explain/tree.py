"""A dependency tree with an arc from each word to its dependents; the probable arcs are drawn below.

 .-- det --. .-- nsubj --. root .----- obj -----.
 |         | |           |  |   |   .-- det --. |
 v         | v           |  v   |   v         | v
the        dog            saw      the        cat
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Polygon
from matplotlib.path import Path

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
    widths,
)

# Sizes in inches, fonts in points; all are reduced by the same factor for long sentences.
_SIZE, _LABEL_SIZE, _NOTE_SIZE, _NOTE = 12, 8, 9, 0.22
WORD, _LEVEL, _BELOW, _CORNER, _ARROW = 0.3, 0.24, 0.16, 0.1, 0.035
_SPACE = 0.16  # between words
_BESIDE = 0.34  # total space between the label of an arc and the words at its ends
PORT = 0.09  # between arcs that end at one word
_NARROWEST, _WIDEST, _SMALLEST = 2.6, 22.0, 0.5  # widths of a page, and the smallest scale of a wide one
_LARGEST = 300.0  # the maximum width of any page
_LEAST = 0.05  # the minimum probability of an arc that is drawn
_SURE = 0.95  # probabilities from this value on are not printed
_ROOT = -1
_STRONG = "#2a6cb2"


class Arc(NamedTuple):
    """An arc from a head to the word that depends on it."""

    head: int  # from 0; -1 for the root
    word: int
    label: str
    share: float = 1.0

    @property
    def span(self) -> tuple[int, int]:
        """The ends of the arc, from left to right; both are the same for an arc from the root."""
        ends = (self.word if self.head == _ROOT else self.head, self.word)
        return min(ends), max(ends)


def draw_tree(
    words: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] = (),
    marginals: np.ndarray | None = None,
    *,
    title: str | None = None,
    kind: str | None = None,
) -> Figure:
    """Draw a sentence with an arc from the head of each word to the word, and below it the probabilities of other arcs.

    Args:
        words: The words of the sentence, in order.
        heads: The number of the head of each word, from 1; 0 for the root, -1 for none.
        relations: The relation of each word to its head.
        marginals: The probabilities `[word, head]`; what a row lacks to 1 is the probability of the root. Arcs with a
            probability from 0.05 are drawn, and darker arcs are more probable.
        title: A sentence above the figure.
        kind: The kind of the tree for a note below it: `"the most probable tree"`.

    >>> figure = draw_tree(["dogs", "bark"], [2, 0], ["nsubj", "root"], np.array([[0, 0.9], [0.1, 0]]))
    """
    count = len(words)
    if len(heads) != count or not all(-1 <= head <= count and head != word for word, head in enumerate(heads, 1)):
        expected = f"{count} numbers from -1 to {count}, and no word as its own head"
        raise ValueError(f"heads: expected {expected}. Received: {list(heads)!r:.80}")
    if relations and len(relations) != count:
        raise ValueError(f"relations: expected {count}, one for each word, or None. Received: {len(relations)}")
    likely = [] if marginals is None else _likely(np.asarray(marginals, float), count)
    if not count:
        return empty_answer(title)
    names = [make_legible(name) for name in relations] or [""] * count
    tree = [Arc(head - 1, word, names[word] or "root" * (not head)) for word, head in enumerate(heads) if head >= 0]
    shown = [make_legible(word) for word in words]
    measured = widths(shown, _SIZE)
    centres = _centres(measured, [*tree, *likely])
    above, below = levels_of(tree), levels_of(likely)

    used = max(_reach(centres, measured, [*tree, *likely]), centres[-1] + measured[-1] / 2)
    scale = min(1.0, max(_WIDEST / used, _SMALLEST), _LARGEST / used)
    notes = [f"above: {kind}"] * bool(kind) + [f"below: arcs with a probability of at least {_LEAST}"] * bool(likely)
    width = 2 * MARGIN + max(used * scale, _NARROWEST if title or likely else 0, *widths(notes, _NOTE_SIZE), 0)
    under = MARGIN + _NOTE * len(notes) + (scale * _BELOW * (max(below.values()) + 0.6) if likely else 0)
    content = under - MARGIN + scale * (WORD + _LEVEL * (max(above.values(), default=0) + 0.5))
    sheet = Sheet(width, content, title)
    pen = _Pen(sheet.axes, [MARGIN + scale * x for x in centres], [scale * wide for wide in measured], scale)
    for x, word in zip(pen.centres, shown, strict=True):
        pen.axes.text(x, under + scale * 0.1, word, **text_style(_SIZE * scale, ha="center", va="baseline"))
    pen.draw(above, under + scale * WORD, _LEVEL)
    pen.draw(below, under, -_BELOW)
    for line, note in enumerate(reversed(notes)):
        pen.axes.text(MARGIN, MARGIN + _NOTE * line, note, **text_style(_NOTE_SIZE, QUIET, va="bottom"))
    return sheet.figure


def _likely(marginals: np.ndarray, count: int) -> list[Arc]:
    """Return the arcs that are probable enough to be drawn, including those from the root."""
    if marginals.shape != (count, count) or not ((marginals >= -1e-3) & (marginals <= 1 + 1e-3)).all():
        expected = f"[word, head] = {(count, count)}, from 0 to 1"
        raise ValueError(f"marginals: expected {expected}. Received: shape {marginals.shape}, {marginals!r:.80}")
    shares = np.concatenate([1 - marginals.sum(axis=1, keepdims=True), marginals], axis=1)  # [word, root and heads]
    arcs = [
        Arc(int(head) - 1, int(word), "", float(shares[word, head])) for word, head in np.argwhere(shares >= _LEAST)
    ]
    return [arc._replace(label=_told(arc), share=min(arc.share, 1.0)) for arc in arcs if arc.head != arc.word]


def _told(arc: Arc) -> str:
    return " ".join(["root"] * (arc.head == _ROOT) + [f"{arc.share:.2f}"] * (arc.share < _SURE))


def levels_of(arcs: Sequence[Arc]) -> dict[Arc, int]:
    """Return the height of each arc, from 1: above all arcs that it spans or crosses, for a root all those at its word.

    >>> list(levels_of([Arc(1, 0, "det"), Arc(2, 1, "nsubj"), Arc(-1, 2, "root"), Arc(2, 0, "x")]).values())
    [1, 1, 2, 3]
    """
    levels: dict[Arc, int] = {}
    for arc in sorted(arcs, key=lambda arc: (arc.head == _ROOT, arc.span[1] - arc.span[0])):
        left, right = arc.span
        if arc.head == _ROOT:
            met = [level for other, level in levels.items() if other.span[0] <= left <= other.span[1]]
        else:
            met = [level for other, level in levels.items() if other.span[0] < right and left < other.span[1]]
        levels[arc] = 1 + max(met, default=0)
    return levels


def _centres(measured: Sequence[float], arcs: Sequence[Arc]) -> list[float]:
    """Return the centers of the words, far enough apart for the labels between them."""
    labels = dict(zip(arcs, widths([arc.label for arc in arcs], _LABEL_SIZE), strict=True))
    ends: list[list[Arc]] = [[] for _ in measured]
    for arc in arcs:
        ends[arc.span[1]].append(arc)
    centres: list[float] = []
    for word, wide in enumerate(measured):
        least = [centres[-1] + measured[word - 1] / 2 + _SPACE + wide / 2 if word else wide / 2]
        for arc in ends[word]:
            least.append(labels[arc] / 2 if arc.head == _ROOT else centres[arc.span[0]] + labels[arc] + _BESIDE)
        centres.append(max(least))
    return centres


def _reach(centres: Sequence[float], measured: Sequence[float], arcs: Sequence[Arc]) -> float:
    """Return the right end of the labels of arcs from the root, wherever these end over their words."""
    roots = [arc for arc in arcs if arc.head == _ROOT]
    labels = zip(roots, widths([arc.label for arc in roots], _LABEL_SIZE), strict=True)
    return max((centres[arc.word] + (measured[arc.word] + wide) / 2 for arc, wide in labels), default=0.0)


class _Pen(NamedTuple):
    """A pen that draws arcs over words at given positions."""

    axes: Axes
    centres: list[float]
    widths: list[float]
    scale: float

    def draw(self, levels: Mapping[Arc, int], base: float, height: float) -> None:
        """Draw arcs upwards from a line, or with a negative height downwards, as curves shaded by probability."""
        up, ports = height > 0, self._ports(levels)
        for arc, level in sorted(levels.items(), key=lambda pair: pair[0].share):
            start, end, top = ports[arc, arc.head], ports[arc, arc.word], base + level * height * self.scale
            path = _bracket(start, end, base, top, _CORNER * self.scale) if up else _bow(start, end, base, top)
            colour = _STRONG if up else BLUES(0.1 + 0.9 * arc.share)
            self.axes.add_patch(PathPatch(path, facecolor="none", edgecolor=colour, linewidth=1.2 * self.scale))
            side, tall = _ARROW * self.scale, 2 * _ARROW * self.scale * np.sign(height)
            tip = [(end, base), (end - side, base + tall), (end + side, base + tall)]
            self.axes.add_patch(Polygon(tip, facecolor=colour, linewidth=0))
            if arc.label:
                style = text_style(_LABEL_SIZE * self.scale, INK if up else QUIET, ha="center", va="center_baseline")
                box = {"facecolor": PAPER, "linewidth": 0, "pad": 1.2 * self.scale}
                self.axes.text((start + end) / 2, top, arc.label, bbox=box, zorder=2, **style)

    def _ports(self, levels: Mapping[Arc, int]) -> dict[tuple[Arc, int], float]:
        """Return the ends of arcs by arc and word, ordered from left to right so that arcs do not cross."""
        ports = {}
        for word, (centre, wide) in enumerate(zip(self.centres, self.widths, strict=True)):
            sides = [(np.sign(sum(arc.span) - 2 * word), arc) for arc in levels if word in arc.span]
            order = sorted(sides, key=lambda pair: (pair[0], -pair[0] * levels[pair[1]]))
            step = min(PORT * self.scale, wide / max(len(order), 1))
            for place, (_, arc) in enumerate(order):
                ports[arc, word] = ports[arc, _ROOT] = centre + step * (place - (len(order) - 1) / 2)
        return ports


def _bracket(start: float, end: float, base: float, top: float, corner: float) -> Path:
    """Return a path up, across and down, with round corners."""
    side, up, corner = np.sign(end - start), np.sign(top - base), min(corner, abs(end - start) / 2)
    rise = [(start, base), (start, top - up * corner), (start, top), (start + side * corner, top)]
    fall = [(end - side * corner, top), (end, top), (end, top - up * corner), (end, base)]
    around = [Path.CURVE3, Path.CURVE3, Path.LINETO]
    return Path(rise + fall, [Path.MOVETO, Path.LINETO, *around, *around])


def _bow(start: float, end: float, base: float, top: float) -> Path:
    """Return a single curve, or a straight line if start and end are equal."""
    control = base + (top - base) * 4 / 3
    curve = Path([(start, base), (start, control), (end, control), (end, base)], [Path.MOVETO, *[Path.CURVE4] * 3])
    return curve if start != end else Path([(start, top), (end, base)])
