"""Exact inference in pure NumPy, one row at a time, for devices whose network ends in scores.

`structured` defines chains, projective trees and spanning trees, and computes the same results: `-inf` forbids a part,
a word is never its own head, and a row of length 0 has exactly one structure, the empty one. All computations use
float64.

A `Ring` sums over the alternatives from which a part is built and returns the share of each in the sum. Propagating
mass back from the whole by these shares gives the probability of every part, or the best structure if the best
alternative has the whole share.
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

Ring = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # returns the sum over the last axis, and the shares in it

_NEVER = -np.inf
_MOST_BULK, _MOST_ERROR = 3e3, 5e-12  # limits for trusting a linear system, as in `structured.spanning`


def _finite(x: np.ndarray) -> np.ndarray:
    """Replace `-inf` in `x` by 0, so that it can be subtracted."""
    return np.where(x > _NEVER, x, 0.0)


def _all(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Apply the ring of sums: `log sum exp x` and softmax, which is zero where nothing is possible."""
    top = _finite(x.max(-1, keepdims=True))
    weights = np.exp(x - top)
    mass = weights.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return (np.log(mass) + top)[..., 0], weights / np.maximum(mass, 1)


def _best(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Apply the ring of maxima: the first of the largest values has the whole share."""
    return x.max(-1), np.arange(x.shape[-1]) == x.argmax(-1)[..., None]


def _chain(unary: Any, pairwise: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of tags `[time, tags]`, and of each tag's predecessors `[time - 1, tags, tags]`."""
    unary, pairwise = np.asarray(unary, np.float64), np.asarray(pairwise, np.float64)
    if unary.ndim != 2 or not unary.shape[1]:
        raise ValueError(f"unary: expected [time, tags], one tag or more. Received: shape {unary.shape}")
    time, tags = unary.shape
    steps = (max(time - 1, 0), tags, tags)
    if pairwise.shape not in (steps, steps[1:]):
        raise ValueError(f"pairwise: expected shape {steps[1:]} or {steps}. Received: {pairwise.shape}")
    return unary, np.broadcast_to(np.ascontiguousarray(pairwise.swapaxes(-1, -2)), steps)


def _arcs(arcs: Any) -> np.ndarray:
    """Return a copy of the scores `[words, words + 1]`, with `-inf` where a word would be its own head."""
    arcs = np.array(arcs, np.float64)
    if arcs.ndim != 2 or arcs.shape[1] != len(arcs) + 1:
        raise ValueError(f"arcs: expected [words, words + 1], column 0 for the root. Received: shape {arcs.shape}")
    np.fill_diagonal(arcs[:, 1:], _NEVER)
    return arcs


def best_chains(unary: Any, pairwise: Any, k: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return the `k` best sequences of tags, by Viterbi's algorithm.

    The forward pass computes the best score of a prefix for every tag at its end. The backward pass keeps the `k`
    suffixes that give the best sequences together with such prefixes; no suffix beyond these `k` is needed.

    Args:
        unary: The scores of tags, `[time, tags]`.
        pairwise: The scores of a tag followed by another: `[tags, tags]`, or `[time - 1, tags, tags]` for each step.
        k: The number of sequences.

    Returns:
        Tags, `int32 [k, time]`, best first, and their scores `[k]`; fewer if fewer sequences are possible.

    >>> tags, scores = best_chains([[1, 0], [0, 3]], [[0, -9], [0, 0]], k=2)
    >>> tags.tolist(), scores.tolist()
    ([[1, 1], [0, 0]], [3.0, 1.0])
    """
    unary, before = _chain(unary, pairwise)
    if not isinstance(k, Integral) or k < 1:
        raise ValueError(f"k: expected a positive integer. Received: {k!r}")
    time, size = unary.shape
    ahead = unary.copy()  # the score of the best prefix that ends in the tag
    for t in range(1, time):
        ahead[t] += (ahead[t - 1] + before[t - 1]).max(1)
    tags, scores, onward = np.zeros([1, time], np.int32), np.zeros(1), np.zeros([1, size])
    for t in reversed(range(time)):
        whole = (ahead[t] + onward).ravel()  # [ends, tags]
        best = np.argsort(-whole, kind="stable")[:k]
        best = best[whole[best] > _NEVER]
        ends, new = np.divmod(best, size)
        tags, scores = tags[ends], whole[best]
        tags[:, t] = new
        if t:
            onward = (onward[ends, new] + unary[t, new])[:, None] + before[t - 1][new]
    return tags, scores


def chain_marginals(unary: Any, pairwise: Any) -> tuple[float, np.ndarray]:
    """Return the log-partition of a chain, and the probability of every tag at every position.

    Args:
        unary: The scores of tags, `[time, tags]`.
        pairwise: The scores of a tag followed by another: `[tags, tags]`, or `[time - 1, tags, tags]` for each step.

    Returns:
        The log-partition, and probabilities `[time, tags]`, which are zero if no sequence is possible.

    >>> log_partition, marginals = chain_marginals(np.log([[3, 1], [1, 4]]), np.zeros([2, 2]))
    >>> round(float(np.exp(log_partition)), 6), marginals.round(6).tolist()
    (20.0, [[0.75, 0.25], [0.2, 0.8]])
    """
    unary, before = _chain(unary, pairwise)
    marginals = np.zeros_like(unary)
    if not len(unary):
        return 0.0, marginals
    ahead, passed, shares = unary[0], 0.0, []
    for scores, step in zip(unary[1:], before, strict=True):
        top = float(_finite(ahead.max()))
        sums, share = _all(ahead - top + step)
        ahead, passed = sums + scores, passed + top
        shares.append(share)
    total, marginals[-1] = _all(ahead)
    for t in reversed(range(len(shares))):
        marginals[t] = marginals[t + 1] @ shares[t]
    return passed + float(total), marginals


def _eisner(ring: Ring, arcs: np.ndarray, single_root: bool) -> tuple[float, np.ndarray]:
    """Return the sum over all projective trees, and how often each arc is used, `[words, words + 1]`.

    The recursion is that of `structured.eisner`, with three sums over pairs of spans, from `i` to a split and from
    there to `j`:

        arc to the right, right   ->  right        left, arc to the left   ->  left        right, left   ->  either arc

    First spans are stored as `[3, i, width]` and second spans as `[3, j, width]`, so that pairs are slices; the stored
    width of an arc is one less than its width.
    """
    size = len(arcs) + 1
    tops = _finite(arcs.max(1, keepdims=True))
    scores = np.vstack([np.full([1, size], _NEVER), arcs - tops])  # the root has no head
    first, second = (np.full([3, size, size], _NEVER) for _ in range(2))
    first[1:, :, 0] = second[::2, :, 0] = 0
    shares = []
    for width in range(1, size):
        begin, end, back = slice(size - width), slice(width, size), slice(width - 1, None, -1)
        pairs = first[2, begin, :width] + second[2, end, back]  # [i, split]
        if single_root:
            pairs[0, 1:] = _NEVER  # nothing may come before the only arc of the root
        meet, meet_shares = ring(pairs)
        first[0, begin, width - 1] = meet + scores.diagonal(-width)
        second[1, end, width - 1] = meet + scores.diagonal(width)
        (right, left), whole_shares = ring(first[:2, begin, :width] + second[:2, end, back])
        first[2, begin, width] = second[0, end, width] = right
        first[1, begin, width] = second[2, end, width] = left
        shares.append((meet_shares, whole_shares))
    from_first, from_second = np.zeros_like(first), np.zeros_like(second)
    from_first[2, 0, -1] = 1
    for width in reversed(range(1, size)):
        begin, end, back = slice(size - width), slice(width, size), slice(width - 1, None, -1)
        meet_shares, whole_shares = shares[width - 1]
        whole = from_first[2:0:-1, begin, width] + from_second[::2, end, width]  # right and left
        parts = whole[..., None] * whole_shares
        from_first[:2, begin, :width] += parts
        from_second[:2, end, back] += parts
        parts = (from_first[0, begin, width - 1] + from_second[1, end, width - 1])[:, None] * meet_shares
        from_first[2, begin, :width] += parts
        from_second[2, end, back] += parts
    i, j = np.triu_indices(size, 1)
    used = np.zeros([size, size])
    used[j, i], used[i, j] = from_first[0, i, j - i - 1], from_second[1, j, j - i - 1]
    return float(first[2, 0, -1] + tops.sum()), used[1:]


def projective_heads(arcs: Any, single_root: bool = True) -> np.ndarray:
    """Return the heads of the best tree whose arcs do not cross, by Eisner's algorithm: `int32 [words]`.

    Args:
        arcs: The scores `[words, words + 1]`: a row for every word, a column for every head, with the root first.
        single_root: Whether exactly one word depends on the root.

    Returns:
        0 for the root, otherwise the number of a word, from 1. If no tree is allowed, the result has forbidden arcs.

    >>> projective_heads([[0, 0, 3], [1, 0, 0]]).tolist()
    [2, 0]
    """
    return _eisner(_best, _arcs(arcs), single_root)[1].argmax(1).astype(np.int32)


def projective_marginals(arcs: Any, single_root: bool = True) -> tuple[float, np.ndarray]:
    """Return the log-partition of trees without crossing arcs, and the probability of every arc, `[words, words + 1]`.

    The arguments are those of `projective_heads`. The probabilities are zero if no tree is possible.

    >>> log_partition, marginals = projective_marginals(np.zeros([4, 5]))
    >>> round(np.exp(log_partition))  # the number of trees, each with weight one
    30
    """
    return _eisner(_all, _arcs(arcs), single_root)


def _root_penalty(arcs: np.ndarray) -> float:
    """Return a penalty for root scores that makes trees with more than one arc from the root negligible."""
    known = arcs[arcs > _NEVER]
    spread = np.ptp(known) if known.size else 0.0
    return len(arcs) * (spread + np.log(len(arcs) + 1)) + 60.0


def spanning_heads(arcs: Any, single_root: bool = True) -> np.ndarray:
    """Return the heads of the best tree whose arcs may cross, `int32 [words]`.

    Words are eliminated one by one, while paths through an eliminated word replace arcs with lower scores. The words
    are then restored, as in `structured.spanning_heads`. The arguments are those of `projective_heads`. If no tree is
    allowed, the result has few forbidden arcs.

    >>> spanning_heads([[9, 0, 1], [9, 2, 0]]).tolist()
    [0, 1]
    """
    arcs = _arcs(arcs)
    words = len(arcs)
    penalty = _root_penalty(arcs)
    arcs[:, 0] -= penalty if single_root else 0.0
    arcs = np.maximum(arcs, -2 * (words + 1) * penalty)  # allowed if there is no other arc
    via, choice = np.full(arcs.shape, -1), np.zeros(words, int)
    for word in range(words):
        row = arcs[word].copy()
        row[1 : word + 2] = _NEVER
        choice[word] = row.argmax()
        around = arcs[:, word + 1, None] + (row - row.max())
        better = around > arcs
        better[: word + 1] = False
        arcs[better], via[better] = around[better], word
    heads = np.zeros(words, np.int32)
    order: list[int] = []  # heads before their words
    for word in reversed(range(words)):
        users = [other for other in order if via[other, heads[other]] == word]
        heads[word] = heads[users[0]] if users else choice[word]
        order.insert(order.index(users[0]) if users else len(order), word)
        heads[users] = word + 1
    return heads


def spanning_marginals(arcs: Any, single_root: bool = True) -> tuple[float, np.ndarray]:
    """Return the log-partition of all trees, crossing arcs included, and the probability of every arc.

    The probabilities have the shape `[words, words + 1]`.

    They are computed by the matrix-tree theorem or, if its subtractions lose digits, by a method in log space without
    subtractions. The arguments are those of `projective_heads`. The probabilities are zero if no tree is possible.

    >>> log_partition, marginals = spanning_marginals(np.zeros([4, 5]), single_root=False)
    >>> round(np.exp(log_partition))  # Cayley: (N + 1)^(N - 1)
    125
    """
    arcs = _arcs(arcs)
    if not len(arcs):
        return 0.0, arcs
    found = _solved(arcs, single_root)
    if found is not None:
        return found
    penalty = _root_penalty(arcs) if single_root else 0.0
    arcs[:, 0] -= penalty
    log_partition, marginals = _walked(arcs)
    if single_root and marginals[:, 0].sum() > 1.5:  # all remaining trees have several roots
        return _NEVER, np.zeros_like(marginals)
    return log_partition + penalty, marginals


def _solved(arcs: np.ndarray, single_root: bool) -> tuple[float, np.ndarray] | None:
    """Compute log-partition and marginals by the Laplacian of `structured.spanning`; None if it loses precision."""
    scale = _finite(_all(arcs)[0])
    weights = np.exp(arcs - scale[:, None])
    root, rest = weights[:, :1], weights[:, 1:]
    matrix = np.diag((rest if single_root else weights).sum(1)) - rest
    if single_root:
        matrix[:, :1] += root
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    own = np.diag(inverse)
    with np.errstate(all="ignore"):  # overflow is detected below
        marginals = weights * np.column_stack([inverse[0] if single_root else own, own[:, None] - inverse.T])
        error, bulk = np.abs(marginals.sum(1) - 1).max(), np.abs(weights.max(1) * own).max()
    if not (error <= _MOST_ERROR and bulk <= _MOST_BULK and marginals.min() >= -_MOST_ERROR):
        return None
    return float(np.linalg.slogdet(matrix)[1] + scale.sum()), np.clip(marginals, 0, 1)


def _walked(arcs: np.ndarray) -> tuple[float, np.ndarray]:
    """Compute log-partition and marginals of all trees from a random walk; see `structured.spanning_walks`.

    A graph contains the logarithms of the rates from all words to the root and to the remaining words, `[words, 1 +
    left]`. For an eliminated word they are the log-probabilities of the node that a walk from it reaches first.
    """
    reach = np.zeros_like(arcs)  # [d, h]: log-probability that a walk from h reaches the root before d
    rate = np.zeros([len(arcs), 1])  # logarithm of the rate from d to the root

    def halve(graph: np.ndarray, words: list[int], log_z: float) -> float:
        """Eliminate either half of the words recursively, down to single words, and return the log-partition."""
        if len(words) == 1:
            [word] = words
            reach[word, 1:], rate[word] = graph[:, 0], graph[word, 0]
            return log_z + graph[word, 0]
        half, ids = len(words) // 2, list(range(1, len(words) + 1))
        halve(*_without(graph[:, [0, *ids[half:], *ids[:half]]], words[half:], words[:half], log_z))
        return halve(*_without(graph, words[:half], words[half:], log_z))

    log_partition = halve(arcs, list(range(len(arcs))), 0.0)
    if log_partition == _NEVER:
        return _NEVER, np.zeros_like(arcs)
    return float(log_partition), np.exp(arcs + reach - rate)


def _without(graph: np.ndarray, kept: list[int], out: list[int], log_z: float) -> tuple[np.ndarray, list[int], float]:
    """Eliminate the words in the last columns of a graph and return the arguments of `halve` for the others."""
    for word in reversed(out):
        into, graph = graph[:, -1:], graph[:, :-1]
        total = np.logaddexp.reduce(graph[word])
        share = graph[word] - _finite(total)
        graph = np.logaddexp(graph, into + share)
        graph[word] = share
        log_z += total
    return graph, kept, log_z
