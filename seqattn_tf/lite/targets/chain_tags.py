"""Tags that depend on each other: a chain over the positions, decoded as a whole."""

from collections.abc import Mapping

import numpy as np

from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.numpy_inference import best_chains, chain_marginals
from seqattn_tf.lite.targets.tags import Tags


class ChainTags(Tags):
    """A tag for each position, where the answer is the best sequence of tags; arguments as in `Tags`.

    A network computes potentials: `unary [positions, tags]`, `pairwise [tags, tags]` and `lengths []`. From them come
    the best sequences with their log-probabilities, and the probability of every tag at every position as an attention
    map whose queries are the tags.

    >>> tags = ChainTags(("D", "N"))
    >>> given = {"unary": np.array([[2.0, 0.0], [1.0, 0.0]]), "pairwise": np.array([[-9.0, 0.0], [0.0, 0.0]])}
    >>> tags.format_row(tags.decode_row({**given, "lengths": 2}, answers=1, look="text"))["text"]  # no D after D
    'D N'
    """

    name_in_registry = "chain_tags"

    def decode_row(self, given: Mapping[str, np.ndarray], answers: int, look: str) -> dict[str, np.ndarray]:
        """Find the best sequences by dynamic programming in NumPy."""
        length = int(given["lengths"])
        unary, pairwise = given["unary"][:length], given["pairwise"]
        log_partition, marginals = chain_marginals(unary, pairwise)
        if not length or not log_partition > -np.inf:
            nothing = {"tags": np.zeros([1, length], np.int32), "scores": np.array([-np.inf])}
            return {**nothing, look + ATTENTION: np.zeros([self.size, length])}
        tags, scores = best_chains(unary, pairwise, answers)
        return {"tags": tags + 1, "scores": scores - log_partition, look + ATTENTION: marginals.T}
