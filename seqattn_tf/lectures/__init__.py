"""Demonstrations of recurrent networks for lectures: gradient flow, attractors, and the cliff of the error surface."""

from seqattn_tf.lectures.dynamics import attractors, gradient_flow, iterate, matrix_powers
from seqattn_tf.lectures.dynamics_plots import draw_attractors, draw_flows, draw_powers
from seqattn_tf.lectures.error_surface import ErrorSurface, RecurrentUnit
from seqattn_tf.lectures.surface_plot import draw_surface

__all__ = [
    "ErrorSurface",
    "RecurrentUnit",
    "attractors",
    "draw_attractors",
    "draw_flows",
    "draw_powers",
    "draw_surface",
    "gradient_flow",
    "iterate",
    "matrix_powers",
]
