"""Pictures of what a model did. Draws arrays and tokens; knows no model and no TensorFlow."""

from seqattn_tf.explain.alignment import draw_alignment, draw_answer, save_figure
from seqattn_tf.explain.dynamics import draw_attractors, draw_flows
from seqattn_tf.explain.page import Entry, write_page

__all__ = ["Entry", "draw_alignment", "draw_answer", "draw_attractors", "draw_flows", "save_figure", "write_page"]
