"""Distributions over all dependency trees, with crossing arcs allowed.

Let `w(d, h) = exp(arcs[d, h])` be the weight of the arc from a word `d` to its head `h`, where 0 is the root. By the
matrix-tree theorem (Tutte, 1948), the sum over all trees is a determinant, and marginals follow from an inverse:

    L(d, d) = sum_h w(d, h)     L(d, h) = -w(d, h)              G = L^-1
    Z = det L                   p(d has the head h) = w(d, h) (G(d, d) - G(h, d))     p(root) = w(d, 0) G(d, d)

If only one word may have the root as its head, the root's weights are removed from the diagonal and added to the column
of the first word instead. By the matrix determinant lemma, this leaves the trees with one arc from the root, and

    p(root) = w(d, 0) G(1, d)

The inverse is computed by Gauss-Jordan elimination in `O(N^3)`, and its derivatives by `dG = -G dL G`. The differences
above lose precision where words form cycles with large weights. The loss is estimated afterwards from `w(d, h) G(d, d)`
and the sum of each word's marginals. If it is too large, the batch is solved again in float64 and, if necessary, in log
space without subtractions (`spanning_walks`).
"""

from typing import Any, NamedTuple

import tensorflow as tf

from seqattn_tf.core.scan import repeat, size_of
from seqattn_tf.structured import exact, spanning_heads, spanning_walks
from seqattn_tf.structured.base import Ranked, two_seeds
from seqattn_tf.structured.semirings import Dual, Element, each, shift, value_of
from seqattn_tf.structured.trees import Trees

# The maximum of w(d, h) G(d, d) and of the error of a sum of marginals, by the precision used and the one required.
# The error of marginals grows with the first, the error of their derivatives with its square.
_LIMITS = {
    (tf.float32, tf.float32): (1e1, 5e-6),
    (tf.float64, tf.float32): (1e5, 5e-7),
    (tf.float64, tf.float64): (3e3, 5e-12),
}


class _Solved(NamedTuple):
    """The solution of the linear system of a batch: the inverse, the results, and whether they are accurate."""

    scale: tf.Tensor
    inverse: tf.Tensor
    log_partition: tf.Tensor
    marginals: tf.Tensor
    fine: tf.Tensor


def _scale(arcs: tf.Tensor) -> tf.Tensor:
    """Return the logarithm `[batch, words, 1]` of the sum of each word's weights, or zero if it has none."""
    top = tf.reduce_max(arcs, axis=-1, keepdims=True)
    top = tf.where(top > -float("inf"), top, tf.zeros_like(top))
    total = tf.reduce_sum(tf.exp(arcs - top), axis=-1, keepdims=True)
    return top + tf.math.log(tf.where(total > 0, total, tf.ones_like(total)))


def _laplacian(weights: tf.Tensor, single_root: bool) -> tf.Tensor:
    """Return `L`, which is linear in the weights: `[batch, words, words + 1] -> [batch, words, words]`."""
    root, words = weights[:, :, :1], weights[:, :, 1:]
    leaving = tf.reduce_sum(words if single_root else weights, axis=-1)
    matrix = tf.linalg.diag(leaving) - words
    if single_root:
        matrix = tf.concat([matrix[:, :, :1] + root, matrix[:, :, 1:]], axis=2)
    return matrix


def _marginals(weights: tf.Tensor, inverse: tf.Tensor, single_root: bool) -> tf.Tensor:
    """Return the marginals, which are linear in the inverse and in the weights."""
    own = tf.linalg.diag_part(inverse)
    root = inverse[:, 0] if single_root else own
    words = own[:, :, None] - tf.linalg.matrix_transpose(inverse)
    return weights * tf.concat([root[:, :, None], words], axis=2)


def _eliminate(matrix: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the inverse and the log-determinant by Gauss-Jordan elimination, from the last word to the first.

    Pivoting is unnecessary: the matrix is diagonally dominant except for the column of the first word, which comes
    last.
    """
    size = size_of(matrix, 1)
    odd = size % 2
    matrix = tf.pad(matrix, [[0, 0], [0, odd], [0, odd]])
    ids = tf.range(size + odd)
    matrix += tf.linalg.diag(tf.cast(ids >= size, matrix.dtype))

    def step(left: tf.Tensor, matrix: tf.Tensor, log_det: tf.Tensor) -> tuple:
        i, j = left - 2, left - 1
        at_i, at_j = tf.cast(ids == i, matrix.dtype), tf.cast(ids == j, matrix.dtype)
        row_i, row_j, column_i, column_j = matrix[:, i], matrix[:, j], matrix[:, :, i], matrix[:, :, j]
        a, b, c, d = row_i[:, i, None], row_i[:, j, None], row_j[:, i, None], row_j[:, j, None]
        det = a * d - b * c
        row_i, row_j = row_i + at_i, row_j + at_j
        up, down = (d * row_i - b * row_j) / det, (a * row_j - c * row_i) / det
        moved = matrix - (column_i - at_i)[:, :, None] * up[:, None] - (column_j - at_j)[:, :, None] * down[:, None]
        return i, moved, log_det + tf.math.log(det[:, 0])

    start = (size + odd, matrix, tf.zeros_like(matrix[:, 0, 0]))
    _, inverse, log_det = repeat(lambda left, *_: left > 0, step, start, (size + odd) // 2)
    return inverse[:, :size, :size], log_det


def _known_inverse(matrix: tf.Tensor, inverse: tf.Tensor) -> tf.Tensor:
    """Return the precomputed inverse as a differentiable function of the matrix."""

    @tf.custom_gradient
    def function(matrix: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            known = _known_inverse(matrix, inverse)
            return -tf.matmul(tf.matmul(known, upstream, transpose_a=True), known, transpose_b=True)

        return tf.identity(inverse), gradient

    return function(matrix)


class SpanningTree(Trees):
    """A distribution over all dependency trees, projective or not, by the matrix-tree theorem, in `O(words^3)`.

    The arguments are those of `Trees`.

    >>> trees = SpanningTree(tf.zeros([1, 4, 5]), single_root=False)
    >>> round(float(tf.exp(trees.log_partition[0])))  # Cayley: (N + 1)^(N - 1)
    125
    >>> trees = SpanningTree(tf.constant([[[9.0, 0.0, 1.0], [9.0, 2.0, 0.0]]]))
    >>> trees.argmax.numpy().tolist()
    [[0, 1]]
    """

    @property
    def _rules(self) -> exact.Rules:
        kept = []

        def infer(arcs: tf.Tensor) -> tuple[tf.Tensor, exact.Tensors]:
            arcs = self._possible(arcs)
            kept.append(self._solve(arcs))
            log_partition, marginals = self._trusted(kept[-1], arcs)
            return log_partition, (marginals,)

        def tangent(scores: exact.Tensors, directions: exact.Tensors) -> exact.Tensors:
            arcs = self._possible(scores[0])
            direction = tf.where(arcs > -float("inf"), directions[0], tf.zeros_like(arcs))
            return (self._trusted_tangent(kept[-1] if kept else self._solve(arcs), arcs, direction),)

        def taped(scores: exact.Tensors, directions: exact.Tensors) -> exact.Tensors:
            wide = [tf.cast(t, tf.float64) for t in (self._possible(scores[0]), directions[0])]
            return (tf.cast(self._walk(Dual(*wide))[1].tangent, scores[0].dtype),)

        return exact.Rules(infer, tangent, taped)

    def _laplacian(self, weights: tf.Tensor) -> tf.Tensor:
        """Return `L`, with ones on the diagonal for missing words."""
        missing = ~self._words
        return _laplacian(weights, self.single_root) + tf.linalg.diag(tf.cast(missing, weights.dtype))

    def _solve(self, arcs: tf.Tensor) -> _Solved:
        """Solve the linear system in the precision of the arcs."""
        arcs = tf.stop_gradient(arcs)
        scale = _scale(arcs)
        weights = tf.exp(arcs - scale)
        inverse, log_det = _eliminate(self._laplacian(weights))
        marginals = _marginals(weights, inverse, self.single_root)
        missing = ~self._words
        error = tf.reduce_sum(marginals, axis=-1) + tf.cast(missing, arcs.dtype) - 1
        bulk = tf.reduce_max(weights, axis=-1) * tf.linalg.diag_part(inverse)
        most_bulk, most_error = _LIMITS[arcs.dtype, self.arcs.dtype]
        fine = (tf.abs(error) <= most_error) & (tf.abs(bulk) <= most_bulk)
        log_partition = log_det + tf.reduce_sum(scale, axis=[1, 2])
        return _Solved(scale, inverse, log_partition, tf.maximum(marginals, 0), tf.reduce_all(fine))

    def _trusted(self, solved: _Solved, arcs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the log-partition and the marginals, solved in higher precision if necessary."""

        def again() -> tuple[tf.Tensor, tf.Tensor]:
            if arcs.dtype == tf.float64:
                return self._walk(arcs)
            wide = tf.cast(arcs, tf.float64)
            return tuple(tf.cast(t, arcs.dtype) for t in self._trusted(self._solve(wide), wide))

        return tf.cond(solved.fine, lambda: (solved.log_partition, solved.marginals), again)

    def _trusted_tangent(self, solved: _Solved, arcs: tf.Tensor, direction: tf.Tensor) -> tf.Tensor:
        """Return the derivative of the marginals, solved in higher precision if necessary."""

        def again() -> tf.Tensor:
            if arcs.dtype == tf.float64:
                return self._walk(Dual(arcs, direction))[1].tangent
            wide = tf.cast(arcs, tf.float64)
            return tf.cast(self._trusted_tangent(self._solve(wide), wide, tf.cast(direction, tf.float64)), arcs.dtype)

        return tf.cond(solved.fine, lambda: self._tangent(solved, arcs, direction), again)

    def _tangent(self, solved: _Solved, arcs: tf.Tensor, direction: tf.Tensor) -> tf.Tensor:
        """Return the derivative of the marginals from the linear system."""
        weights = tf.exp(arcs - solved.scale)
        inverse = _known_inverse(self._laplacian(weights), solved.inverse)
        moved = weights * direction
        turned = -tf.matmul(tf.matmul(inverse, _laplacian(moved, self.single_root)), inverse)
        return _marginals(moved, inverse, self.single_root) + _marginals(weights, turned, self.single_root)

    def _walk(self, arcs: Element) -> tuple[tf.Tensor, Element]:
        """Return the log-partition and the marginals, with derivatives if the arcs have them, computed in log space."""
        if not self.single_root:
            return spanning_walks.walk(arcs, self.lengths)
        penalty = tf.stop_gradient(spanning_heads.root_penalty(value_of(arcs)))
        from_root = tf.one_hot(0, self.size + 1, dtype=penalty.dtype) * penalty[:, None, None]
        log_partition, marginals = spanning_walks.walk(shift(arcs, -from_root), self.lengths)
        log_partition += tf.where(self.lengths > 0, penalty, tf.zeros_like(penalty))
        # If a row has more than one expected root, all its trees have several roots.
        possible = tf.reduce_sum(value_of(marginals)[:, :, 0], 1) < 1.5
        log_partition = tf.where(possible, log_partition, -float("inf"))
        return log_partition, each(lambda v: tf.where(possible[:, None, None], v, tf.zeros_like(v)), marginals)

    @property
    def argmax(self) -> tf.Tensor:
        """The heads of the best tree, `int32 [batch, words]`. If no tree is allowed, a tree with few forbidden arcs."""
        return self._cut(spanning_heads.best(self.arcs, self._exists, self.single_root))

    def top_k(self, k: int) -> Ranked:
        """Raise an error, because spanning trees have no recursion over their parts."""
        raise ValueError(
            "top_k: expected a structure with a recursion over its parts; spanning trees have none. "
            f"Use argmax, sample or ProjectiveTree. Received: k={k!r}"
        )

    def sample(self, n: int, seed: Any) -> tf.Tensor:
        """Draw the heads of independent trees: `int32 [n, batch, words]`."""
        arcs = tf.cast(self._possible(self.arcs), tf.float64)
        log_partition, marginals = self._trusted(self._solve(arcs), arcs)
        roots = marginals[:, :, 0] if self.single_root else None
        return self._cut(spanning_heads.draw(arcs, roots, log_partition > -float("inf"), n, two_seeds(seed)))
