"""Pictures of what a model did. Draws arrays and tokens; knows no model and no TensorFlow."""

from seqattn_tf.explain.alignment import draw_alignment, save_figure
from seqattn_tf.explain.answer import draw_answer
from seqattn_tf.explain.curves import draw_lengths
from seqattn_tf.explain.dynamics import draw_attractors, draw_flows
from seqattn_tf.explain.grid import draw_grid
from seqattn_tf.explain.highlight import draw_highlight
from seqattn_tf.explain.page import Entry, write_page
from seqattn_tf.explain.segments import draw_segments
from seqattn_tf.explain.surprise import draw_running, draw_surprise
from seqattn_tf.explain.tags import draw_tags
from seqattn_tf.explain.tree import draw_tree

__all__ = [
    "Entry",
    "draw_alignment",
    "draw_answer",
    "draw_attractors",
    "draw_flows",
    "draw_grid",
    "draw_highlight",
    "draw_lengths",
    "draw_running",
    "draw_segments",
    "draw_surprise",
    "draw_tags",
    "draw_tree",
    "save_figure",
    "write_page",
]
