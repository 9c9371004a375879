"""The activations of single units while a network reads: the text, with a background color for each symbol.

The figure follows Karpathy, Johnson and Fei-Fei (2015), Visualizing and Understanding Recurrent Networks.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from seqattn_tf.explain.sheet import (
    INK,
    MARGIN,
    PAPER,
    QUIET,
    Sheet,
    empty_answer,
    make_legible,
    running,
    text_style,
    widths,
)

ACTIVATION = LinearSegmentedColormap.from_list(
    "activation", ["#14498a", "#5793cf", "#c9dcf0", "#fafafa", "#f8d3bd", "#e08a5b", "#b0401a"]
)
# Sizes in inches, fonts in points.
_SIZE, _HEADING = 9, 10.5
CELL, _LINE, _PAD = 0.115, 0.19, 0.05  # width of a character's background, line height, padding of a longer symbol
ROOM = 8.0  # the width of a line
_HEADING_LINE, _BETWEEN, _BELOW_TITLE = 0.26, 0.16, 0.06
BAR, _BAR_LENGTH, _BAR_ROOM = 0.08, 1.2, 0.36
_DARK = 0.62  # letters on backgrounds of larger absolute values are white


def units_varying(states: np.ndarray, count: int) -> dict[int, float]:
    """Return the units that vary most over the steps with their standard deviations, the largest first.

    Args:
        states: The states `[steps, units]`.
        count: The number of units.

    >>> units_varying(np.array([[0.0, 0.1, 0.9], [0.0, -0.1, -0.9]]), count=2)
    {2: 0.9, 1: 0.1}
    """
    spread = _checked(states).std(axis=0)
    return _first(spread, spread, count)


def units_like(states: np.ndarray, signal: Sequence[float] | np.ndarray, count: int) -> dict[int, float]:
    """Return the units with the strongest correlation to a signal, positive or negative, in decreasing order.

    Select units on one text and draw another one, because some of many units correlate with any signal by chance.

    Args:
        states: The states `[steps, units]`.
        signal: A number for each step, such as 1 inside quotes and 0 outside, or the position in the line.
        count: The number of units.

    >>> states = np.array([[0.1, 0.9], [0.2, -0.9], [0.1, 0.9], [0.1, -0.9]])
    >>> units_like(states, [0, 1, 0, 1], count=1)
    {1: -1.0}
    """
    states = _checked(states)
    signal = np.asarray(signal, dtype=float)
    if signal.shape != states.shape[:1] or not np.isfinite(signal).all() or signal.std() == 0:
        raise ValueError(
            f"signal: expected {len(states)} finite numbers that are not all equal. Received: {signal!r:.80}"
        )
    spread = states.std(axis=0)
    together = (states - states.mean(axis=0)).T @ (signal - signal.mean()) / len(signal)
    found = together / np.where(spread > 0, spread * signal.std(), np.inf)  # 0 for a unit that does not vary
    return _first(np.abs(found), found, count)


def _checked(states: np.ndarray) -> np.ndarray:
    states = np.asarray(states, dtype=float)
    if states.ndim != 2 or 0 in states.shape or not np.isfinite(states).all():
        raise ValueError(f"states: expected finite numbers [steps, units]. Received: shape {states.shape}")
    return states


def _first(order: np.ndarray, values: np.ndarray, count: int) -> dict[int, float]:
    if not 0 < count <= len(order):
        raise ValueError(f"count: expected a number from 1 to the {len(order)} units. Received: {count}")
    return {int(unit): round(float(values[unit]), 6) for unit in np.argsort(-order, kind="stable")[:count]}


def draw_units(
    symbols: Sequence[str], states: np.ndarray, units: Sequence[int] | Mapping[int, str], title: str = ""
) -> Figure:
    """Draw a text once for each unit, with the activation of the unit after each symbol as its background color.

    Blue is -1, white 0, red 1. A space is an empty background; a line break is visible and ends its line.

    Args:
        symbols: The symbols of the text, in order.
        states: The states `[symbols, units]`, from -1 to 1: outputs of a recurrent network, or `tanh` of an LSTM's
            memory.
        units: The numbers of the units to draw; in a mapping, each has a comment that is shown above its text.
        title: A sentence above the figure.

    >>> states = np.tanh(np.random.default_rng(0).normal(size=[5, 8]))
    >>> figure = draw_units("a\\nbcd", states, {3: "the loudest", 7: ""}, title="two units")
    """
    states = np.asarray(states, dtype=float)
    if states.ndim != 2 or len(states) != len(symbols) or not (np.abs(states) <= 1 + 1e-6).all():
        expected = f"numbers from -1 to 1, [{len(symbols)}, units]"
        raise ValueError(f"states: expected {expected}. Received: {_range(states)}")
    named = dict(units) if isinstance(units, Mapping) else dict.fromkeys(units, "")
    if wrong := [unit for unit in named if not 0 <= unit < states.shape[1]]:
        raise ValueError(f"units: expected numbers from 0 to {states.shape[1] - 1}. Received: {wrong[0]}")
    if not symbols or not named:
        return empty_answer(title)
    labels = ["" if symbol == " " else make_legible(symbol) for symbol in symbols]
    measured = zip(labels, widths(labels, _SIZE), strict=True)
    sizes = [wide + _PAD if len(label) > 1 else CELL for label, wide in measured]
    places = running(symbols, sizes, ROOM)
    block = _HEADING_LINE + _LINE * (places[-1][1] + 1)
    ends = [x + size for (x, _), size in zip(places, sizes, strict=True)]
    width = 2 * MARGIN + max(*ends, _BAR_LENGTH + 1.0)
    sheet = Sheet(width, _BELOW_TITLE + len(named) * (block + _BETWEEN) + _BAR_ROOM, title)
    axes, top = sheet.axes, sheet.top - _BELOW_TITLE
    for unit, words in named.items():
        heading = f"unit {unit}" + (f": {make_legible(words, len(words))}" if words else "")
        axes.text(MARGIN, top - 0.04, heading, **text_style(_HEADING, va="top"))
        for label, (x, line), size, value in zip(labels, places, sizes, states[:, unit], strict=True):
            _tile(axes, label, value, MARGIN + x, top - _HEADING_LINE - _LINE * (line + 1), size)
        top -= block + _BETWEEN
    _scale(sheet)
    return sheet.figure


def _range(states: np.ndarray) -> str:
    """Describe invalid states for an error message."""
    seen = f", from {states.min():g} to {states.max():g}" if states.size else ""
    return f"shape {states.shape}{seen}"


def _tile(axes: Axes, label: str, value: float, x: float, y: float, width: float) -> None:
    ground = Rectangle((x, y), width, _LINE - 0.015, facecolor=ACTIVATION((value + 1) / 2), linewidth=0)
    axes.add_patch(ground)
    if label:
        colour = PAPER if abs(value) > _DARK else INK
        axes.text(x + width / 2, y + 0.05, label, **text_style(_SIZE, colour, ha="center"))


def _scale(sheet: Sheet) -> None:
    """Draw the color scale at the bottom of the page."""
    axes = sheet.add_axes(MARGIN, MARGIN + 0.18, _BAR_LENGTH, BAR)
    bar = sheet.figure.colorbar(ScalarMappable(Normalize(-1, 1), ACTIVATION), cax=axes, orientation="horizontal")
    bar.outline.set_visible(False)
    bar.set_ticks([-1, 0, 1], labels=["-1", "0", "1"], **text_style(8, QUIET))
    axes.tick_params(length=0, pad=2)
