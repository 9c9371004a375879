"""The error surface of a recurrent unit, its cliff, and where gradient descent goes on it.

    error  .-----------.                  left: the surface; right: the same from above
           |            \\   wall
           |             |   a step at the wall: without clipping it leaves the page, with it it stays
           '-------------'--------

The picture is Figure 6 of Pascanu, Mikolov and Bengio (2013), On the difficulty of training recurrent neural networks.
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
_LANDS = LinearSegmentedColormap.from_list("lands", BLUES(np.linspace(0, 0.62, 32)))  # light enough to be drawn upon
_LIFT = 0.02  # of the height, so that a path lies on the surface and not in it
_FINE, _BLUR = 120, 3  # rows and columns of the surface; of them, those to either side that give a place its colour
_SMOOTH = 24  # heights are taken at so many places of a step
_PATHS = (COLOURS[1], COLOURS[2], COLOURS[3])
_WIDTHS = (3.0, 1.2, 0.8)  # of lines in points: where ways begin as one, all are seen


def draw_surface(
    weights: np.ndarray,
    biases: np.ndarray,
    errors: np.ndarray,
    paths: Mapping[str, np.ndarray] | None = None,
    title: str = "",
) -> Figure:
    """Draws errors over a weight and a bias, as a surface and from above, and the ways of gradient descent on it.

    A way is drawn up to where it leaves the grid; an arrow and a note say where its next point would be.

    Args:
        weights: of the grid, `[w]`, increasing.
        biases: of the grid, `[b]`, increasing.
        errors: `[b, w]`, finite.
        paths: for each name its points `(w, b)` or `(w, b, error)`, `[points, 2 or 3]`, such as
            `surface.RecurrentUnit.descend` gives; the first lies on the grid.
        title: one sentence above the picture.

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
        points = list(range(len(inside) - (leaves is not None)))  # the edge of the page is none
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
    """The points of a way up to where it leaves a box `[[low, low], [high, high]]`, and the first point outside.

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
    """The height of a surface `[b, w]` at points `(w, b)` of its grid, linear between its corners: `[n, 2] -> [n]`.

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
    """A way with more points on its straight lines, so that it follows the land."""
    numbers = np.arange(len(path))
    fine = np.linspace(0, len(path) - 1, _SMOOTH * (len(path) - 1) + 1)
    return np.stack([np.interp(fine, numbers, values) for values in path.T], axis=-1)


def _increasing(name: str, values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, float)
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all() or not (np.diff(values) > 0).all():
        raise ValueError(f"{name}: expected two finite numbers or more, increasing. Received: {values!r:.80}")
    return values


def _checked(name: str, path: Any, box: np.ndarray) -> np.ndarray:
    """The weights and biases of a way."""
    path = np.asarray(path, float)
    if path.ndim != 2 or path.shape[1] not in (2, 3) or not len(path) or not np.isfinite(path).all():
        raise ValueError(f"paths[{name!r}]: expected finite numbers [points, 2 or 3]. Received: shape {path.shape}")
    path = path[:, :2]
    if (path[0] < box[0]).any() or (path[0] > box[1]).any():
        raise ValueError(f"paths[{name!r}]: expected to begin on the grid. Received: {path[0].tolist()}")
    return path


def _draw_heights(axes: Any, weights: np.ndarray, biases: np.ndarray, errors: np.ndarray) -> None:
    axes.computed_zorder = False  # ways lie on the surface
    around = np.lib.stride_tricks.sliding_window_view(np.pad(errors, _BLUR, "edge"), [2 * _BLUR + 1] * 2)
    shades = Normalize(errors.min(), errors.max())(around.mean(axis=(2, 3)))  # a wall of one colour, not in stripes
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
    """An arrow out of the page, and where it goes."""
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
