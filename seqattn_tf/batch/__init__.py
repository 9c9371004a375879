"""Answers to all rows of a file: in parts that appear whole, by processes, going on after an end.

Importing this package loads nothing heavy.
"""

from seqattn_tf.batch.run import Options, map_file
from seqattn_tf.batch.shards import Report

__all__ = ["Options", "Report", "map_file"]
