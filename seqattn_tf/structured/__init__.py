"""Exact inference over chains, segmentations and trees, and a tagging layer based on it."""

from seqattn_tf.structured.chain import LinearChain
from seqattn_tf.structured.crf import CRF
from seqattn_tf.structured.forms import fact_chain, hidden_markov
from seqattn_tf.structured.projective import ProjectiveTree
from seqattn_tf.structured.segments import Segments, SemiMarkov
from seqattn_tf.structured.spanning import SpanningTree
from seqattn_tf.structured.tagger import CRFModel, CRFTraining
from seqattn_tf.structured.tags import allowed_transitions

__all__ = [
    "CRF",
    "CRFModel",
    "CRFTraining",
    "LinearChain",
    "ProjectiveTree",
    "Segments",
    "SemiMarkov",
    "SpanningTree",
    "allowed_transitions",
    "fact_chain",
    "hidden_markov",
]
