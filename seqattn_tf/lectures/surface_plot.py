"""The error surface of a recurrent unit, its cliff, and the paths of gradient descent on it.

    error  .-----------.                  left: the surface; right: the same from above
           |            \\   wall
           |             |   a step at the wall leaves the page, unless the gradient is clipped
           '-------------'--------

The figure follows Figure 6 of Pascanu, Mikolov and Bengio (2013), On the difficulty of training recurrent neural
networks.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from seqattn_tf.explain.sheet import BLUES, COLOURS, INK, PAPER, QUIET, name_curves, two_pages

_LEVELS = 14
_LANDS = LinearSegmentedColormap.from_list("lands", BLUES(np.linspace(0, 0.62, 32)))  # light enough to draw on
_LIFT = 0.02  # share of the height by which paths are raised, so that the surface does not hide them
_FINE, _BLUR = 120, 3  # rows and columns of the surface; neighbors on either side that are averaged for a color
_SMOOTH = 24  # the number of points per step at which heights are computed
_PATHS = (COLOURS[1], COLOURS[2], COLOURS[3])
_WIDTHS = (3.0, 1.2, 0.8)  # line widths in points, so that all paths are visible where they coincide


def draw_surface(
    weights: np.ndarray,
    biases: np.ndarray,
    errors: np.ndarray,
    paths: Mapping[str, np.ndarray] | None = None,
    title: str = "",
) -> Figure:
    """Draw errors over a weight and a bias, as a surface and from above, with paths of gradient descent.

    A path is drawn up to the point where it leaves the grid; an arrow and a note indicate its next point.

    Args:
        weights: The weights of the grid, `[w]`, increasing.
        biases: The biases of the grid, `[b]`, increasing.
        errors: The errors `[b, w]`, finite.
        paths: The points `(w, b)` or `(w, b, error)` of each path by name, `[points, 2 or 3]`, such as the result of
            `RecurrentUnit.descend`; the first point must be on the grid.
        title: A sentence above the figure.

    >>> weights, biases = np.linspace(-1, 1, 9), np.linspace(0, 1, 5)
    >>> figure = draw_surface(weights, biases, biases[:, None] * weights**2, {"way": [[0.5, 0.5], [3.0, 0.5]]})
    """
    weights, biases = _increasing("weights", weights), _increasing("biases", biases)
    errors = np.asarray(errors, float)
    if errors.shape != (len(biases), len(weights)) or not np.isfinite(errors).all():
        expected = f"finite numbers [{len(biases)}, {len(weights)}]"
        raise ValueError(f"errors: expected {expected}. Received: shape {errors.shape}")
    box = np.array([[weights[0], biases[0]], [weights[-1], biases[-1]]])
    checked = {name: _checked(name, path, box) for name, path in (paths or {}).items()}
    figure, depth, above = two_pages(title, depth=True)
    _draw_heights(depth, weights, biases, errors)
    above.contourf(weights, biases, errors, _LEVELS, cmap=_LANDS)
    above.contour(weights, biases, errors, _LEVELS, colors=[QUIET], linewidths=0.3)
    above.set(xlim=box[:, 0], ylim=box[:, 1])
    for number, (name, path) in enumerate(checked.items()):
        inside, leaves = cut(path, box)
        fine = _finely(inside)
        heights = height(fine, weights, biases, errors) + _LIFT * np.ptp(errors)
        style: dict[str, Any] = {"color": _PATHS[number % 3], "linewidth": _WIDTHS[number % 3], "label": name}
        depth.plot(*fine.T, heights, zorder=5 + number, **style)
        points = list(range(len(inside) - (leaves is not None)))  # without the intersection with the edge
        above.plot(*inside.T, "-o", markersize=1.5 + 1.2 * _WIDTHS[number % 3], markevery=points, **style)
        if leaves is not None:
            _leave(above, inside, leaves, _PATHS[number % 3])
    above.set_xlabel("recurrent weight w", color=INK)
    above.set_ylabel("bias b", color=INK)
    if checked:
        first = next(iter(checked.values()))[0]
        above.annotate("start", first, (6, 2), textcoords="offset points", fontsize=8.5, color=INK)
        name_curves(above, fontsize=9, framealpha=0.85, edgecolor="none")
    return figure


def cut(path: np.ndarray, box: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the points of a path up to where it leaves a box `[[low, low], [high, high]]`, and the next point.

    >>> inside, leaves = cut(np.array([[0.0, 0.0], [4.0, 2.0]]), np.array([[-1.0, -1.0], [1.0, 1.0]]))
    >>> inside.tolist(), leaves.tolist()
    ([[0.0, 0.0], [1.0, 0.5]], [4.0, 2.0])
    """
    outside = ((path < box[0]) | (path > box[1])).any(axis=1)
    if not outside.any():
        return path, None
    first = int(outside.argmax())
    before, after = path[first - 1], path[first]
    step = after - before
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(step > 0, box[1] - before, box[0] - before) / step  # of the step, to each edge
    share = np.where(step == 0, np.inf, shares).min()
    return np.vstack([path[:first], before + share * step]), after


def height(points: np.ndarray, weights: np.ndarray, biases: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Interpolate a surface `[b, w]` bilinearly at points `(w, b)` of its grid: `[n, 2] -> [n]`.

    >>> height(np.array([[0.5, 0.25]]), np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([[0.0, 4.0], [0.0, 4.0]]))
    array([2.])
    """
    found = []
    for grid, places in ((weights, points[:, 0]), (biases, points[:, 1])):
        low = np.clip(np.searchsorted(grid, places) - 1, 0, len(grid) - 2)
        found.append((low, (places - grid[low]) / (grid[low + 1] - grid[low])))
    (column, right), (row, up) = found
    lower = errors[row, column] * (1 - right) + errors[row, column + 1] * right
    upper = errors[row + 1, column] * (1 - right) + errors[row + 1, column + 1] * right
    return lower * (1 - up) + upper * up


def _finely(path: np.ndarray) -> np.ndarray:
    """Add points to the straight lines of a path, so that it follows the surface."""
    numbers = np.arange(len(path))
    fine = np.linspace(0, len(path) - 1, _SMOOTH * (len(path) - 1) + 1)
    return np.stack([np.interp(fine, numbers, values) for values in path.T], axis=-1)


def _increasing(name: str, values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, float)
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all() or not (np.diff(values) > 0).all():
        raise ValueError(f"{name}: expected at least two finite numbers in increasing order. Received: {values!r:.80}")
    return values


def _checked(name: str, path: Any, box: np.ndarray) -> np.ndarray:
    """Check a path and return its weights and biases."""
    path = np.asarray(path, float)
    if path.ndim != 2 or path.shape[1] not in (2, 3) or not len(path) or not np.isfinite(path).all():
        raise ValueError(f"paths[{name!r}]: expected finite numbers [points, 2 or 3]. Received: shape {path.shape}")
    path = path[:, :2]
    if (path[0] < box[0]).any() or (path[0] > box[1]).any():
        raise ValueError(f"paths[{name!r}]: expected a path that begins on the grid. Received: {path[0].tolist()}")
    return path


def _draw_heights(axes: Any, weights: np.ndarray, biases: np.ndarray, errors: np.ndarray) -> None:
    axes.computed_zorder = False  # paths are drawn above the surface
    around = np.lib.stride_tricks.sliding_window_view(np.pad(errors, _BLUR, "edge"), [2 * _BLUR + 1] * 2)
    shades = Normalize(errors.min(), errors.max())(around.mean(axis=(2, 3)))  # avoids stripes on the wall
    style: dict[str, Any] = {"linewidth": 0, "antialiased": False, "rcount": _FINE, "ccount": _FINE}
    axes.plot_surface(*np.meshgrid(weights, biases), errors, facecolors=_LANDS(shades), shade=False, **style)
    axes.set(xlabel="w", ylabel="b", zlabel="error")
    axes.view_init(elev=34, azim=38)
    axes.set_box_aspect((4, 4, 3), zoom=0.94)
    axes.zaxis.labelpad = 0
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.label.set_color(INK)
        axis.set_major_locator(MaxNLocator(5))
        axis.set_pane_color(PAPER)
        axis.set_tick_params(labelsize=8, labelcolor=INK, pad=0)


def _leave(axes: Axes, inside: np.ndarray, leaves: np.ndarray, colour: str) -> None:
    """Draw an arrow out of the page, with a note of its destination."""
    tail, head = inside[-2:]
    axes.annotate("", head, tail, arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.6, "shrinkB": 0})
    right, upper = axes.transAxes.inverted().transform(axes.transData.transform(head)) > 0.5
    axes.annotate(
        f"to w = {leaves[0]:.3g}, b = {leaves[1]:.3g}",
        head,
        (-8 if right else 8, -8 if upper else 8),
        textcoords="offset points",
        ha="right" if right else "left",
        va="top" if upper else "bottom",
        fontsize=8.5,
        color=colour,
        bbox={"facecolor": PAPER, "alpha": 0.85, "linewidth": 0, "pad": 1.5},
    )
