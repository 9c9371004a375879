"""Figures of dynamics: norms against the distance in time, and the states where trajectories settle."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from seqattn_tf.explain.sheet import COLOURS, INK, QUIET, curve_page, name_curves, two_pages

_SMALLEST = 1e-12  # the value drawn for a gradient that has vanished
_ORBITS = 6  # the maximum number of trajectories drawn as lines


def draw_flows(flows: Mapping[str, Any], title: str = "How far the gradient reaches") -> Figure:
    """Draw the norms of several gradients against the distance in time, on a logarithmic scale.

    Args:
        flows: `(distances, norms)` by name, such as the results of `gradient_flow`.
        title: A sentence above the figure.

    >>> figure = draw_flows({"w = 0.9": (np.arange(50), 0.9 ** np.arange(50))})
    """
    if not flows:
        raise ValueError("flows: expected at least one flow. Received: none")
    figure, axes = curve_page(title)
    for number, (name, (distances, norms)) in enumerate(flows.items()):
        colour = COLOURS[number % len(COLOURS)]
        line = ("-", "--", ":")[number // len(COLOURS) % 3]
        shown = np.maximum(np.nan_to_num(np.asarray(norms, "float64")), _SMALLEST)
        axes.plot(distances, shown, line, color=colour, linewidth=1.8, label=name or None)
    axes.set_yscale("log")
    axes.axhline(1, color=QUIET, linewidth=0.8, linestyle=(0, (2, 3)))
    axes.set_xlabel("steps back in time", color=INK)
    axes.set_ylabel("norm of the gradient", color=INK)
    if any(flows):
        axes.legend(frameon=False, labelcolor=INK)
    return figure


def draw_attractors(
    states: np.ndarray, title: str = "", kept: int = 32, step: Callable[[np.ndarray], np.ndarray] | None = None
) -> Figure:
    """Draw trajectories as orbits in the plane in which their last states vary most, with these states as dots.

    A single unit is drawn as a cobweb plot: vertically to the map, horizontally to the diagonal, repeatedly.

    Args:
        states: The states [steps, starts, units].
        title: A sentence above the figure.
        kept: The number of last states drawn as dots, where a trajectory settles.
        step: The map, `[points, 1] -> [points, 1]`, which a cobweb plot contains as a curve.

    >>> figure = draw_attractors(np.random.default_rng(0).normal(size=[40, 3, 5]))
    """
    states = np.asarray(states, "float64")
    if states.ndim != 3 or 0 in states.shape or not np.isfinite(states).all():
        raise ValueError(f"states: expected finite numbers [steps, starts, units]. Received: shape {states.shape}")
    figure, axes = curve_page(title)
    if states.shape[2] == 1:
        _draw_cobweb(axes, states[:, :, 0], kept, step)
    else:
        _draw_orbits(axes, states, kept)
    return figure


def _draw_cobweb(axes: Axes, states: np.ndarray, kept: int, step: Callable[[np.ndarray], np.ndarray] | None) -> None:
    """Draw the path of the first start, thin before it settles, and the settled states of all starts as dots."""
    low, high = states.min(), states.max()
    margin = 0.05 * (high - low or 1.0)
    ends = low - margin, high + margin
    axes.plot(ends, ends, color=QUIET, linewidth=1, linestyle=(0, (2, 3)), label="the next x = x")
    if step is not None:
        points = np.linspace(*ends, 300)
        axes.plot(points, np.asarray(step(points[:, None]))[:, 0], color=INK, linewidth=1.4, label="the map")
    way = np.repeat(states[:, 0], 2)  # x0 x0 x1 x1 ...: vertically to the map, horizontally to the diagonal
    across, up = way[:-1], way[1:]
    settled = max(len(across) - 2 * kept, 0)
    first = slice(0, min(settled, 2 * kept) + 1)
    axes.plot(across[first], up[first], color=COLOURS[0], linewidth=0.7, alpha=0.45, label="trajectory")
    axes.plot(across[settled:], up[settled:], color=COLOURS[1], linewidth=1.4, label="fixed point")
    last = states[-kept - 1 :]
    axes.plot(last[:-1].ravel(), last[1:].ravel(), "o", color=COLOURS[1], markersize=4)
    axes.plot(states[0, 0], states[0, 0], "o", color=COLOURS[0], markersize=5, fillstyle="none")
    axes.set_xlim(*ends)
    axes.set_xlabel("x", color=INK)
    axes.set_ylabel("the next x", color=INK)
    axes.legend(frameon=False, labelcolor=INK)


def _draw_orbits(axes: Axes, states: np.ndarray, kept: int) -> None:
    """Draw a thin line for each of several starts with a circle at its beginning, and dots where all of them settle."""
    last = states[-kept:].reshape(-1, states.shape[2])
    centre = last.mean(0)
    _, _, directions = np.linalg.svd(last - centre, full_matrices=False)
    plane = np.zeros([2, states.shape[2]])
    plane[: len(directions[:2])] = directions[:2]
    seen = (states - centre) @ plane.T  # [steps, starts, 2]
    for number in range(min(states.shape[1], _ORBITS)):
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(*seen[:, number].T, color=colour, linewidth=0.7, alpha=0.6)
        axes.plot(*seen[0, number], "o", color=colour, markersize=5, fillstyle="none")
    axes.plot(*seen[-kept:].reshape(-1, 2).T, "o", color=INK, markersize=3, linestyle="none", label="settled states")
    axes.set_xlabel("first principal direction", color=INK)
    axes.set_ylabel("second principal direction", color=INK)
    axes.legend(frameon=False, labelcolor=INK)


def draw_powers(powers: Mapping[str, Any], title: str = "") -> Figure:
    """Draw eigenvalues of matrices in the complex plane, and next to it the norms of a vector under their powers.

    Args:
        powers: `(norms [steps], eigenvalues [n])` by name, such as the results of `matrix_powers`.
        title: A sentence above the figure.

    >>> figure = draw_powers({"0.9": (0.9 ** np.arange(50), [0.9, -0.4])})
    """
    if not powers:
        raise ValueError("powers: expected at least one. Received: none")
    figure, plane, curves = two_pages(title)
    plane.add_patch(Circle((0, 0), 1, fill=False, edgecolor=QUIET, linewidth=1, linestyle=(0, (2, 3))))
    for line in (plane.axhline, plane.axvline):
        line(0, color=QUIET, linewidth=0.6, alpha=0.5)
    for number, (name, (norms, eigenvalues)) in enumerate(powers.items()):
        colour, mark = COLOURS[number % len(COLOURS)], "oD^sv*"[number % 6]
        found = np.asarray(eigenvalues, complex)
        plane.plot(found.real, found.imag, mark, color=colour, fillstyle="none", markeredgewidth=1.6, label=name)
        shown = np.maximum(np.nan_to_num(np.asarray(norms, "float64")), _SMALLEST)
        curves.plot(np.arange(len(shown)), shown, color=colour, linewidth=1.8, label=name)
    far = 1.12 * max(1.0, *(np.abs(np.asarray(values, complex)).max() for _, values in powers.values()))
    plane.set(xlim=(-far, far), ylim=(-far, far), aspect="equal")
    plane.set_xlabel("real part", color=INK)
    plane.set_ylabel("imaginary part", color=INK)
    curves.set_yscale("log")
    curves.axhline(1, color=QUIET, linewidth=0.8, linestyle=(0, (2, 3)))
    curves.set_xlabel("power k", color=INK)
    curves.set_ylabel("norm of W\u1d4f v", color=INK)
    name_curves(curves, frameon=False, fontsize=9)
    return figure
