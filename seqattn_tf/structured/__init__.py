"""Exact inference over chains, segments and trees."""

from seqattn_tf.structured.chain import LinearChain

__all__ = ["LinearChain"]
