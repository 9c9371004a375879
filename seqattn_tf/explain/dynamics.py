"""Pictures of dynamics: how a gradient's norm changes with the distance in time, and where states settle."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure

from seqattn_tf.explain.sheet import COLOURS, INK, QUIET, curve_page

SMALLEST = 1e-12  # what is drawn for a gradient that has vanished


def draw_flows(flows: Mapping[str, Any], title: str = "How far the gradient reaches") -> Figure:
    """Draws the norms of several gradients against the distance in time, on a logarithmic scale.

    Args:
        flows: for each name its `(distances, norms)`, such as `flow.gradient_flow` gives.
        title: one sentence above the picture.

    >>> figure = draw_flows({"w = 0.9": (np.arange(50), 0.9 ** np.arange(50))})
    """
    if not flows:
        raise ValueError("flows: expected at least one. Received: none")
    figure, axes = curve_page(title)
    for number, (name, (distances, norms)) in enumerate(flows.items()):
        colour = COLOURS[number % len(COLOURS)]
        line = ("-", "--", ":")[number // len(COLOURS) % 3]
        shown = np.maximum(np.nan_to_num(np.asarray(norms, "float64")), SMALLEST)
        axes.plot(distances, shown, line, color=colour, linewidth=1.8, label=name or None)
    axes.set_yscale("log")
    axes.axhline(1, color=QUIET, linewidth=0.8, linestyle=(0, (2, 3)))
    axes.set_xlabel("steps back in time", color=INK)
    axes.set_ylabel("norm of the gradient", color=INK)
    if any(flows):
        axes.legend(frameon=False, labelcolor=INK)
    return figure


def draw_attractors(states: np.ndarray, title: str = "", kept: int = 32) -> Figure:
    """Draws where trajectories end: the last `kept` states in the plane in which they vary most.

    One unit is drawn against its own next value instead.

    Args:
        states: [steps, starts, units].
        title: one sentence above the picture.
        kept: how many of the last steps are shown.

    >>> figure = draw_attractors(np.random.default_rng(0).normal(size=[40, 3, 5]))
    """
    states = np.asarray(states, "float64")
    if states.ndim != 3 or 0 in states.shape or not np.isfinite(states).all():
        raise ValueError(f"states: expected finite numbers [steps, starts, units]. Received: shape {states.shape}")
    last = states[-kept:]
    figure, axes = curve_page(title)
    if states.shape[2] == 1:
        across, up = last[:-1, :, 0], last[1:, :, 0]
        names = ("x", "the next x")
    else:
        flat = last.reshape(-1, states.shape[2])
        centred = flat - flat.mean(0)
        _, _, directions = np.linalg.svd(centred, full_matrices=False)
        across, up = np.moveaxis((centred @ directions[:2].T).reshape(*last.shape[:2], -1), -1, 0)[:2]
        names = ("first principal direction", "second principal direction")
    age = np.repeat(np.linspace(0.15, 1, len(across))[:, None], across.shape[1], axis=1)
    axes.scatter(across, up, s=14, color=to_rgba_array(COLOURS[0], age.ravel()), linewidths=0)
    axes.set_xlabel(names[0], color=INK)
    axes.set_ylabel(names[1], color=INK)
    return figure
