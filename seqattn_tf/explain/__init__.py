"""Figures that explain the answers of models. They are drawn from arrays and tokens, without models or TensorFlow."""

from seqattn_tf.explain.alignment import draw_alignment, save_figure
from seqattn_tf.explain.alignments import draw_alignments
from seqattn_tf.explain.answer import draw_answer, draw_row, row_title
from seqattn_tf.explain.curves import draw_bands, draw_history, draw_lengths
from seqattn_tf.explain.facts import draw_facts
from seqattn_tf.explain.grid import draw_grid
from seqattn_tf.explain.highlight import draw_highlight
from seqattn_tf.explain.memory import draw_memory
from seqattn_tf.explain.page import Entry, write_page
from seqattn_tf.explain.phrases import draw_phrases
from seqattn_tf.explain.segments import draw_segments
from seqattn_tf.explain.surprise import draw_running, draw_surprise
from seqattn_tf.explain.tags import draw_tags
from seqattn_tf.explain.timeline import draw_timeline
from seqattn_tf.explain.tree import draw_tree
from seqattn_tf.explain.units import draw_units, units_like, units_varying

__all__ = [
    "Entry",
    "draw_alignment",
    "draw_alignments",
    "draw_answer",
    "draw_bands",
    "draw_facts",
    "draw_grid",
    "draw_highlight",
    "draw_history",
    "draw_lengths",
    "draw_memory",
    "draw_phrases",
    "draw_row",
    "draw_running",
    "draw_segments",
    "draw_surprise",
    "draw_tags",
    "draw_timeline",
    "draw_tree",
    "draw_units",
    "row_title",
    "save_figure",
    "units_like",
    "units_varying",
    "write_page",
]
