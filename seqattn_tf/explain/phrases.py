"""A sentence with its binary tree, every node in the color of its label on a scale from the first label to the last.

        positive 0.71
     .------(+)------.
 .--(0)--.       .--(+)--.
(0)     (0)     (0)     (+)       (-) negative   (0) neutral   (+) positive
The     film    is      good
"""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Circle, PathPatch
from matplotlib.path import Path

from seqattn_tf.explain.sheet import (
    MARGIN,
    QUIET,
    Sheet,
    empty_answer,
    flow,
    make_legible,
    text_style,
    widths,
)

# Sizes in inches, fonts in points; those of the tree are reduced by the same factor for long sentences.
_SIZE, _SIGN_SIZE, _NAME_SIZE, _NOTE_SIZE = 12, 8.5, 9.5, 8.5
_LEAST = 5.0  # the smallest size of a sign that is printed
_RADIUS, _CORNER = 0.125, 0.09  # of a node, of a line
_LEVEL, _TIGHTEST, TALL = (
    0.42,
    0.22,
    8.0,
)  # the distance between levels, its minimum, and the height of a tree above which it is reduced
WORD, _SPACE, _APART = 0.3, 0.15, 0.29  # a row of words, between words, between nodes over short ones
LEAN, _BELOW = 55, 0.07  # degrees; below a node
_ROOM, _WIDEST, _SMALLEST = 11.0, 22.0, 0.5  # words of wider rows lean; wider trees shrink to this scale at least
_LARGEST = 300.0  # the maximum width of any page
_ROOT_LINE, _ABOVE, _ROW, _NOTE = 0.3, 0.14, 0.3, 0.24  # over the tree; over the legend, a line of it, below it
_BESIDE, _BETWEEN, _NARROWEST, _LONGEST = 0.07, 0.22, 3.0, 6.5  # a label and its sign, two labels, a line of them

SCALE = LinearSegmentedColormap.from_list("seqattn_scale", ["#9b3d17", "#d28d70", "#e8ebef", "#7da5d6", "#1a5aa4"])
_LINE, _EDGE = "#97a1ae", "#7d899a"
SIGNS = {"very negative": "\u2212\u2212", "negative": "\u2212", "neutral": "0", "positive": "+", "very positive": "++"}
MEANING = "sign: most probable label; colour: mean of all labels"
TREE = "the children of each node of a binary tree, root first, each left child after its parent"


class Node(NamedTuple):
    """A node of a binary tree."""

    first: int  # its first word
    last: int  # its last word
    children: tuple[int, ...]  # two, or none for a word
    level: int  # 0 for a word, otherwise above both children


def nodes_of(phrases: Sequence[str]) -> list[Node]:
    """Return the nodes of the tree with these phrases, in the order of opening brackets; none if there is no such tree.

    >>> [(node.first, node.last, node.children) for node in nodes_of(["not so bad", "not", "so bad", "so", "bad"])]
    [(0, 2, (1, 2)), (0, 0, ()), (1, 2, (3, 4)), (1, 1, ()), (2, 2, ())]
    >>> nodes_of(["not bad", "bad", "not"])
    []
    """
    words = phrases[0].split(" ") if phrases else []
    if "" in words or len(phrases) != 2 * len(words) - 1:
        return []
    nodes: list[Node] = []
    waiting = [(0, len(words))]
    while waiting:
        low, high = waiting.pop()
        number = len(nodes)
        middle = low + 1 + phrases[number + 1].count(" ") if high - low > 1 else low
        if phrases[number] != " ".join(words[low:high]) or middle >= high:
            return []
        nodes.append(Node(low, high - 1, (number + 1, number + 2 * (middle - low)) if middle > low else (), 0))
        waiting += [(middle, high), (low, middle)] if middle > low else []
    for number, node in reversed([*enumerate(nodes)]):
        nodes[number] = node._replace(level=max([1 + nodes[child].level for child in node.children], default=0))
    return nodes


def signs_of(labels: Sequence[str]) -> list[str]:
    """Return a short sign for each label: its own if all have one or are short, else initials, else numbers.

    >>> [signs_of(labels) for labels in (["neutral", "very positive"], ["3", "4"], ["sport", "film"], ["one", "of"])]
    [['0', '++'], ['3', '4'], ['s', 'f'], ['1', '2']]
    """
    initials = ["".join(word[0] for word in label.split()) for label in labels]
    own = [SIGNS.get(label, "") for label in labels]
    for signs in (own, [make_legible(label) for label in labels], [make_legible(sign) for sign in initials]):
        if len({*signs}) == len(labels) and all(0 < len(sign) <= 2 for sign in signs):
            return signs
    return [str(number) for number, _ in enumerate(labels, 1)]


def places_of(shares: np.ndarray) -> np.ndarray:
    """Return the position `[node]` of each node between the first label, 0, and the last, 1: its expectation.

    >>> places_of(np.array([[1, 0, 0.25], [0, 0, 0.5], [0, 1, 0.25]]))
    array([0. , 1. , 0.5])
    """
    scale, total = np.linspace(0, 1, len(shares)), shares.sum(axis=0)
    return np.where(total > 0, scale @ shares / np.where(total > 0, total, 1), 0.5)


def draw_phrases(
    phrases: Sequence[str],
    labels: Sequence[str],
    shares: Sequence[Sequence[float]] | np.ndarray,
    *,
    title: str | None = None,
) -> Figure:
    """Draw a sentence with its binary tree, with every node colored by the probabilities of its labels.

    The labels are a scale from the first to the last, and the color of a node is the mean of its distribution on it.
    The sign in a node is that of its most probable label. The words of a long sentence are slanted.

    Args:
        phrases: The texts below all nodes, with words separated by single spaces, in the order of opening brackets: the
            root first, a left child right after its parent.
        labels: The names of the labels, in order.
        shares: The probabilities `[label, node]`.
        title: A sentence above the figure.

    >>> figure = draw_phrases(["not bad", "not", "bad"], ["negative", "positive"], [[0.2, 0.6, 0.9], [0.8, 0.4, 0.1]])
    """
    table = _checked(shares, labels, len(phrases))
    if not len(phrases):
        return empty_answer(title)
    nodes = nodes_of(phrases)
    if not nodes:
        raise ValueError(f"phrases: expected {TREE}. Received: {list(phrases)!r:.80}")
    words = [make_legible(word) for word in phrases[0].split(" ")]
    row, legend = _stand(words), _Legend([make_legible(label) for label in labels], signs_of(labels))
    best = table.argmax(axis=0)

    scale = min(1.0, max(_WIDEST / row.width, _SMALLEST), _LARGEST / row.width)
    level = scale * min(_LEVEL, max(TALL / max(nodes[0].level, 1), _TIGHTEST))
    inner = max(row.width * scale, legend.width)
    base = MARGIN + legend.height(inner) + scale * (row.height + _RADIUS)
    top = base + level * nodes[0].level + scale * _RADIUS
    sheet = Sheet(inner + 2 * MARGIN, top + _ROOT_LINE - MARGIN, title)
    pen = _Pen(sheet.axes, scale)
    centres = [MARGIN + (inner - row.width * scale) / 2 + scale * x for x in row.centres]
    for x, word in zip(centres, words, strict=True):
        pen.word(x, base - scale * (_RADIUS + _BELOW), word, row.leaning)
    at = list(zip(_centres(nodes, centres), [base + level * node.level for node in nodes], strict=True))
    for start, node in zip(at, nodes, strict=True):
        for child in node.children:
            pen.line(start, at[child])
    for where, place, label in zip(at, places_of(table), best, strict=True):
        pen.node(where, place, legend.signs[label])
    said = f"{legend.names[best[0]]} {table[best[0], 0]:.2f}"
    half = widths([said], _SIZE)[0] / 2
    x = min(max(at[0][0], MARGIN + half), MARGIN + inner - half)
    pen.axes.text(x, top + 0.07, said, **text_style(_SIZE, ha="center", va="baseline"))
    legend.draw(pen.axes, inner)
    return sheet.figure


def _checked(shares: Sequence[Sequence[float]] | np.ndarray, labels: Sequence[str], count: int) -> np.ndarray:
    if len(labels) < 2:
        raise ValueError(f"labels: expected at least two. Received: {list(labels)!r:.80}")
    table = np.asarray(shares, float)
    if table.shape != (len(labels), count) or not ((table >= -1e-3) & (table <= 1 + 1e-3)).all():
        expected = f"[label, node] = {(len(labels), count)}, from 0 to 1"
        raise ValueError(f"shares: expected {expected}. Received: shape {table.shape}, {table!r:.80}")
    return table.clip(0, 1)


class _Row(NamedTuple):
    """The positions of words, in inches from the left."""

    centres: list[float]
    width: float
    height: float
    leaning: bool


def _stand(words: Sequence[str]) -> _Row:
    """Arrange words side by side if there is room, and otherwise slanted, with the end of each below its node."""
    measured = widths(words, _SIZE)
    centres = [max(measured[0] / 2, _RADIUS)]
    for before, wide in itertools.pairwise(measured):
        centres.append(centres[-1] + max((before + wide) / 2 + _SPACE, _APART))
    width = centres[-1] + max(measured[-1] / 2, _RADIUS)
    if width <= _ROOM:
        return _Row(centres, width, WORD, leaning=False)
    across, down = math.cos(math.radians(LEAN)), math.sin(math.radians(LEAN))
    left = max(_RADIUS, *(wide * across - _APART * place for place, wide in enumerate(measured)))
    centres = [left + _APART * place for place in range(len(words))]
    return _Row(centres, centres[-1] + _RADIUS, max(measured) * down + 2 * _BELOW, leaning=True)


def _centres(nodes: Sequence[Node], words: Sequence[float]) -> list[float]:
    """Return the centers of the nodes: over the word of a leaf, and otherwise halfway between the children."""
    xs = [words[node.first] for node in nodes]
    for number, node in reversed([*enumerate(nodes)]):
        if node.children:
            xs[number] = sum(xs[child] for child in node.children) / 2
    return xs


class _Pen(NamedTuple):
    """A pen that draws the parts of a tree."""

    axes: Axes
    scale: float

    def word(self, x: float, y: float, word: str, leaning: bool) -> None:
        """Draw a word so that its end, or its center if it is not slanted, is at the top of a row."""
        style = text_style(_SIZE * self.scale, ha="right" if leaning else "center")
        if leaning:
            self.axes.text(x, y, word, rotation=LEAN, rotation_mode="anchor", va="center", **style)
        else:
            self.axes.text(x, y - self.scale * (WORD - 2 * _BELOW), word, va="baseline", **style)

    def line(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Draw a line from a node across and down to its child, with a round corner."""
        (x, y), (far, low) = start, end
        side, corner = np.sign(far - x), min(_CORNER * self.scale, abs(far - x), y - low)
        points = [(x, y), (far - side * corner, y), (far, y), (far, y - corner), (far, low)]
        path = Path(points, [Path.MOVETO, Path.LINETO, Path.CURVE3, Path.CURVE3, Path.LINETO])
        self.axes.add_patch(PathPatch(path, facecolor="none", edgecolor=_LINE, linewidth=1.3 * self.scale))

    def node(self, where: tuple[float, float], place: float, sign: str) -> None:
        """Draw a disc in the color of its position on the scale, with a sign if it is large enough to be legible."""
        colour, size = SCALE(float(place)), _SIGN_SIZE * self.scale * min(1, 1.85 / len(sign))
        rim = {"edgecolor": _EDGE, "linewidth": 0.7 * self.scale}
        self.axes.add_patch(Circle(where, _RADIUS * self.scale, facecolor=colour, zorder=2, **rim))
        if size >= _LEAST:
            style = text_style(size, ink_on(colour), ha="center", va="center_baseline")
            self.axes.text(*where, sign, zorder=3, **style)


def ink_on(colour: tuple[float, ...]) -> str:
    """Return black or white, whichever has more contrast with a color.

    >>> ink_on((1, 1, 0.5)), ink_on((0.3, 0, 0))
    ('black', 'white')
    """
    channels = np.array(colour[:3], float)
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return "black" if linear @ [0.2126, 0.7152, 0.0722] > 0.179 else "white"


class _Legend(NamedTuple):
    """The labels with their signs and colors, in lines below a tree."""

    names: list[str]
    signs: list[str]

    @property
    def sizes(self) -> list[float]:
        """The width of each label."""
        return [2 * _RADIUS + _BESIDE + wide for wide in widths(self.names, _NAME_SIZE)]

    @property
    def width(self) -> float:
        """The width of the legend: one line for few labels, and never less than the note below them."""
        return min(max(sum(self.sizes) + _BETWEEN * len(self.names), _NARROWEST), _LONGEST)

    def height(self, room: float) -> float:
        """Return the height of all lines and the note, for a width of `room` inches."""
        return _NOTE + _ROW * (1 + flow(self.sizes, room, _BETWEEN)[-1][1]) + _ABOVE

    def draw(self, axes: Axes, room: float) -> None:
        """Draw the legend above the lower margin."""
        places, pen = flow(self.sizes, room, _BETWEEN), _Pen(axes, 1.0)
        for number, (x, line) in enumerate(places):
            x, y = MARGIN + x + _RADIUS, MARGIN + _NOTE + _ROW * (places[-1][1] - line) + _RADIUS
            pen.node((x, y), number / (len(places) - 1), self.signs[number])
            axes.text(x + _RADIUS + _BESIDE, y, self.names[number], **text_style(_NAME_SIZE, va="center_baseline"))
        axes.text(MARGIN, MARGIN, MEANING, **text_style(_NOTE_SIZE, QUIET, va="bottom"))
