"""A dependency tree: for each word the word that it depends on, and the relation between them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.lite import numpy_inference
from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.targets.base import check_names
from seqattn_tf.lite.targets.heads import NONE, Heads
from seqattn_tf.lite.targets.tags import listed


class Tree(Heads):
    """A head for each word with the relation to it, written as `2:det`; together they form a tree with one root.

    A network computes potentials: `arcs [words, root and words]`; `gains` of the same shape, which is what the best
    relation of an arc adds to its score; `relations`, which is the index of that relation; and `lengths []`. From them
    come the probability of every arc, as an attention map from words to words (the probability of the root is what a
    row lacks to 1), and the tree with the largest sum of arc probabilities including relations, which has the largest
    expected number of correct arcs. Its score is its log-probability.

    Args:
        relations: The names of the relations, without spaces.
        projective: Whether arcs must not cross.

    >>> Tree(("det", "root")).normalize("2:det 0:root")
    '2:det 0:root'
    """

    name_in_registry = "tree"
    names = ("heads", "relations")

    def __init__(self, relations: Sequence[str], projective: bool = True) -> None:
        self.relations, self.projective = check_names("relations", relations), projective
        if spaced := [name for name in self.relations if name.split() != [name]]:
            raise ValueError(f"relations: expected names without spaces. Received: {spaced}")
        self.numbers = {name: number for number, name in enumerate(self.relations)}

    @classmethod
    def learn(cls, values: Iterable[str | Sequence[str]], projective: bool = True) -> "Tree":
        """Create the target whose relations are those of the values, sorted."""
        return cls(sorted({arc.partition(":")[2] for value in values for arc in listed(value)}), projective)

    @property
    def size(self) -> int:
        """The number of relations, and so of relation scores of an arc."""
        return len(self.relations)

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """Return heads and relations, `[words]` each."""
        arcs = [arc.partition(":") for arc in listed(value)]
        if unknown := [relation for _, _, relation in arcs if relation not in self.numbers]:
            raise ValueError(f"expected relations among {list(self.relations)[:20]}. Received: {unknown[0]!r}")
        heads = super().arrays([head for head, _, _ in arcs])["heads"]
        check_tree(heads)
        return {"heads": heads, "relations": np.array([self.numbers[arc[2]] for arc in arcs], np.int32)}

    def decode_row(self, given: Mapping[str, np.ndarray], answers: int, look: str) -> dict[str, np.ndarray]:
        """Find the tree with the most expected correct arcs by Eisner's algorithm or by Chu-Liu-Edmonds, in NumPy."""
        length = int(given["lengths"])
        arcs, gains, relations = (given[name][:length, : length + 1] for name in ("arcs", "gains", "relations"))
        if not length:
            nothing = {"heads": np.zeros([1, 0], np.int32), "relations": np.zeros([1, 0], np.int32)}
            return {**nothing, "scores": np.array([-np.inf]), look + ATTENTION: np.zeros([0, 0])}
        family = "projective" if self.projective else "spanning"
        log_partition, marginals = getattr(numpy_inference, f"{family}_marginals")(arcs)
        heads = getattr(numpy_inference, f"{family}_heads")(marginals * np.exp(gains))
        words = np.arange(length)
        return {
            "heads": heads[None],
            "relations": relations[words, heads][None],
            "scores": np.array([(arcs + gains)[words, heads].sum() - log_partition]),
            look + ATTENTION: marginals[:, 1:],
        }

    def tokens(self, found: Mapping[str, np.ndarray], answer: int) -> list[str]:
        """Return heads and relations as `HEAD:RELATION`."""
        pairs = zip(found["heads"][answer].tolist(), found["relations"][answer].tolist(), strict=True)
        return [f"{head}:{self.relations[relation]}" for head, relation in pairs if head != NONE]

    def get_config(self) -> dict[str, Any]:
        return {"relations": list(self.relations), "projective": self.projective}


def check_tree(heads: np.ndarray) -> None:
    """Check that heads form a tree with one root.

    >>> check_tree(np.array([2, 1, 0]))
    Traceback (most recent call last):
    ValueError: expected a tree with one root. Received: heads [2, 1, 0]
    """
    roots, reached = int((heads == 0).sum()), heads
    for _ in heads:
        reached = np.where(reached > 0, heads[reached - 1], 0)
    if len(heads) and (roots != 1 or reached.any()):
        raise ValueError(f"expected a tree with one root. Received: heads {heads.tolist()!s:.80}")


def is_projective(heads: np.ndarray) -> bool:
    """Return whether no two arcs of a tree cross.

    >>> is_projective(np.array([2, 0, 2])), is_projective(np.array([3, 4, 0, 3]))
    (True, False)
    """
    words = np.arange(1, len(heads) + 1)
    low, high = np.minimum(words, heads), np.maximum(words, heads)
    inside = (low[:, None] < low) & (low < high[:, None]) & (high[:, None] < high)
    return not inside.any()
