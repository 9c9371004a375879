"""Batch inference over all rows of files, in several processes and resumable; each part is written atomically.

Importing this package does not load TensorFlow or other large libraries.
"""

from seqattn_tf.batch.run import Options, map_file
from seqattn_tf.batch.shards import Report

__all__ = ["Options", "Report", "map_file"]
