"""Exact inference over chains, segments and trees."""

from seqattn_tf.structured.chain import LinearChain
from seqattn_tf.structured.projective import ProjectiveTree
from seqattn_tf.structured.segments import Segments, SemiMarkov

__all__ = ["LinearChain", "ProjectiveTree", "Segments", "SemiMarkov"]
