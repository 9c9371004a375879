"""A text as tiles colored by the surprise of its symbols, and a curve of predictions while a text is read."""

import unicodedata
from collections.abc import Sequence

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from seqattn_tf.explain.sheet import INK, MARGIN, PAPER, QUIET, Sheet, empty_answer, make_legible, running, text_style

REDS = LinearSegmentedColormap.from_list("surprise", ["#f4f6f9", "#fbe3cf", "#f6b98a", "#e5804a", "#bf4a1d", "#7a2308"])
_SIZE, _LINE, WIDTH = 11, 0.34, 8.0  # points; inches
_LARGEST = 10.0  # bits at which the color scale ends


def draw_surprise(
    symbols: Sequence[str], bits: Sequence[float] | np.ndarray, given: int = 0, title: str = ""
) -> Figure:
    """Draw symbols in reading order, darker for larger surprise: white for none, full color from ten bits on.

    Args:
        symbols: The symbols of the text, in order; a line break starts a new line.
        bits: The surprise of each symbol, `-log2 p`, not negative; infinite for an impossible symbol.
        given: The number of initial symbols that were given instead of generated, which are underlined.
        title: A sentence above the figure.

    >>> figure = draw_surprise(["a", "b"], [0.5, 7.0], given=1, title="a")
    """
    found = np.asarray(bits, dtype=float)
    if found.shape != (len(symbols),) or np.isnan(found).any() or (found < -1e-3).any():
        raise ValueError(f"bits: expected {len(symbols)} nonnegative numbers. Received: {found!r:.80}")
    if not len(symbols):
        return empty_answer(title)
    labels = [make_legible(symbol) for symbol in symbols]
    places, rows = _places(symbols, labels)
    sheet = Sheet(WIDTH, _LINE * (rows + 1), title)
    axes, scale = sheet.axes, Normalize(0, _LARGEST, clip=True)
    for number, (label, (x, row, width)) in enumerate(zip(labels, places, strict=True)):
        y = sheet.top - _LINE * (row + 1)
        shade = scale(found[number])
        axes.add_patch(Rectangle((x, y + 0.04), width - 0.01, _LINE - 0.06, facecolor=REDS(shade), linewidth=0))
        if number < given:
            axes.plot([x, x + width - 0.01], [y + 0.03] * 2, color=INK, linewidth=1.2)
        style = text_style(_SIZE, PAPER if shade > 0.7 else INK, ha="center", va="center_baseline")
        axes.text(x + width / 2, y + 0.04 + (_LINE - 0.06) / 2, label, **style)
    total = found.sum()
    note = f"{total:.1f} bits, {total / len(found):.2f} per symbol" + (
        "; underlined: given in the prompt" if given else ""
    )
    axes.text(MARGIN, MARGIN, note, **text_style(9, QUIET, va="bottom"))
    return sheet.figure


def _places(symbols: Sequence[str], labels: Sequence[str]) -> tuple[list[tuple[float, int, float]], int]:
    """Return `(x, row, width)` of each tile, and the number of rows."""
    wide = [
        sum(2 if unicodedata.east_asian_width(character) in "WF" else 1.15 for character in label) for label in labels
    ]
    sizes = [0.06 + width * _SIZE / 72 * 0.56 for width in wide]
    placed = zip(running(symbols, sizes, WIDTH - 2 * MARGIN), sizes, strict=True)
    places = [(MARGIN + x, row, size) for (x, row), size in placed]
    return places, places[-1][1] + 1


def draw_running(symbols: Sequence[str], values: Sequence[float] | np.ndarray, title: str = "") -> Figure:
    """Draw the number that a model predicts after each symbol.

    >>> figure = draw_running(["3", "1"], [3.0, 4.1], title="3 1")
    """
    found = np.asarray(values, dtype=float)
    if found.shape != (len(symbols),) or not np.isfinite(found).all():
        raise ValueError(f"values: expected {len(symbols)} finite numbers. Received: {found!r:.80}")
    if not len(symbols):
        return empty_answer(title)
    width = min(max(0.4 * len(symbols), 2.4), 10.0) + 4 * MARGIN
    sheet = Sheet(width, 2.6 - 2 * MARGIN, title)
    axes = sheet.add_axes(0.7, 0.5, width - 0.7 - MARGIN, 1.8)
    places = np.arange(len(symbols))
    axes.plot(places, found, marker="o", markersize=4, color="#2a6cb2", linewidth=1.8)
    step = -(-len(symbols) // 24)
    axes.set_xticks(places[::step], [make_legible(symbol) for symbol in symbols][::step], **text_style(9))
    axes.tick_params(axis="y", labelsize=9, labelcolor=QUIET)
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return sheet.figure
