"""Curves of a metric over groups of examples, such as sentences of increasing length, and over epochs of runs."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from seqattn_tf.explain.sheet import COLOURS, INK, QUIET, curve_page, name_curves


def draw_lengths(
    groups: Mapping[str, Sequence[tuple[str, int, float]]],
    ylabel: str = "BLEU",
    xlabel: str = "length of the source",
    title: str = "",
) -> Figure:
    """Draw a metric over groups of examples, with one line for each model.

    Args:
        groups: The `(label, count, value)` of each group in order, for each model, such as the result of
            `training.metrics.bleu_by_length`; a model may lack some groups.
        ylabel: The name of the values.
        xlabel: The name of the labels.
        title: A sentence above the figure.

    >>> figure = draw_lengths({"attention": [("1-10", 80, 31.2), ("11-20", 20, 30.5)], "none": [("1-10", 80, 24.0)]})
    """
    longest = max(groups.values(), key=len, default=())
    if not longest:
        raise ValueError("groups: expected at least one with values. Received: none")
    counts = {label: count for label, count, _ in longest}
    for label, count in ((label, count) for group in groups.values() for label, count, _ in group):
        counts.setdefault(label, count)
    figure, axes = curve_page(title)
    for number, (name, group) in enumerate(groups.items()):
        values = {label: value for label, _, value in group}
        heights = [values.get(label, math.nan) for label in counts]
        axes.plot(range(len(counts)), heights, markersize=4, label=name, **_stroke(number))
    ticks = [f"{label}\nn = {count}" for label, count in counts.items()]
    axes.set_xticks(range(len(counts)), ticks, fontsize=9, color=INK, parse_math=False)
    axes.set_xlim(-0.3, len(counts) - 0.7)
    lowest = min((value for group in groups.values() for _, _, value in group), default=0.0)
    axes.set_ylim(1.08 * min(lowest, 0.0), 1.08 * max(axes.get_ylim()[1], 1e-6))  # margin for markers at the edge
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)
    axes.set_xlabel(xlabel, color=INK, parse_math=False)
    axes.set_ylabel(ylabel, color=INK, parse_math=False)
    name_curves(axes, frameon=False)
    return figure


def _stroke(number: int) -> dict[str, Any]:
    """Return the style of the curve with this number: all colors first, then again with dashes and with dots."""
    style, colour = ("-", "--", ":")[number // len(COLOURS) % 3], COLOURS[number % len(COLOURS)]
    return {"linestyle": style, "color": colour, "linewidth": 1.8, "marker": "o"}


def draw_history(curves: Mapping[str, Sequence[float]], ylabel: str = "loss", title: str = "") -> Figure:
    """Draw a metric over the epochs of training runs, with one line for each.

    Args:
        curves: The values of each run, one per epoch.
        ylabel: The name of the values.
        title: A sentence above the figure.

    >>> figure = draw_history({"gru": [3.2, 2.1, 1.8], "lstm": [3.4, 2.0]})
    """
    return draw_bands({name: [values] for name, values in curves.items()}, ylabel, title)


def draw_bands(curves: Mapping[str, Sequence[Sequence[float]]], ylabel: str = "loss", title: str = "") -> Figure:
    """Draw the mean of a metric over the epochs of groups of runs, in a band of one standard deviation.

    Args:
        curves: The values of each run of each group, one per epoch. Runs may end early.
        ylabel: The name of the values.
        title: A sentence above the figure.

    >>> figure = draw_bands({"gru": [[3.2, 2.1, 1.8], [3.0, 2.2, 1.9]], "lstm": [[3.4, 2.0], [3.6, 2.4]]})
    """
    if not any(values for runs in curves.values() for values in runs):
        raise ValueError("curves: expected at least one with values. Received: none")
    figure, axes = curve_page(title)
    for number, (name, runs) in enumerate(curves.items()):
        columns = [[run[epoch] for run in runs if epoch < len(run)] for epoch in range(max(map(len, runs), default=0))]
        means = [statistics.fmean(column) for column in columns]
        spreads = [statistics.stdev(column) if len(column) > 1 else 0.0 for column in columns]
        stroke, epochs = _stroke(number), range(1, len(means) + 1)
        label = f"{name} ({len(runs)} runs)" if len(runs) > 1 else name
        axes.plot(epochs, means, markersize=3, label=label, **stroke)
        low = [mean - spread for mean, spread in zip(means, spreads, strict=True)]
        high = [mean + spread for mean, spread in zip(means, spreads, strict=True)]
        axes.fill_between(epochs, low, high, color=stroke["color"], alpha=0.15, linewidth=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)
    axes.set_xlabel("epoch", color=INK)
    axes.set_ylabel(ylabel, color=INK, parse_math=False)
    name_curves(axes, frameon=False)
    return figure
