"""Single spanning trees: the best one, and random ones.

The best tree is found in the same way as the sum over trees, by eliminating words one at a time, with `max` in place of
`+` and `+` in place of `x`:

    w(h, x) <- max(w(h, x), w(h, p) + w(p, x) - S_p)        S_p = max of w(p, x) over the remaining x

This is correct because the elimination never subtracts, so a sum of products can be replaced by a maximum of sums. Then
the words are restored in reverse order. Those whose arc to `x` was better via `p` get the head `p`; `p` gets the head
of the one among them that is nearest to the root, or its own best head if there is none. The complexity is
`O(words^3)`.

Random trees (Wilson, 1996) are drawn by choosing a head for every word; while there are cycles, the words on them are
drawn again. What is drawn again is independent of the remaining tree, and hence so is the number of rounds. Therefore a
limit on the rounds causes no bias: beyond it, the heads are drawn word by word, each given the previous ones.
"""

import tensorflow as tf

from seqattn_tf.core.scan import repeat, size_of
from seqattn_tf.structured.semirings import step_seed, uniform
from seqattn_tf.structured.spanning_walks import escape

ROUNDS = 1000  # the maximum number of rounds


def root_penalty(arcs: tf.Tensor) -> tf.Tensor:
    """Return the penalty `[batch]` on the root's scores that makes trees with several arcs from the root negligible.

    Args:
        arcs: The scores `[batch, words, words + 1]` in float64, `-inf` for missing arcs.
    """
    top = tf.reduce_max(arcs, axis=[1, 2])
    low = tf.reduce_min(tf.where(arcs > -float("inf"), arcs, top[:, None, None]), axis=[1, 2])
    spread = tf.where(top > low, top - low, tf.zeros_like(top))
    size = tf.cast(tf.shape(arcs)[1], arcs.dtype)
    return size * (spread + tf.math.log(size + 1)) + 60.0


def best(arcs: tf.Tensor, exists: tf.Tensor, single_root: bool) -> tf.Tensor:
    """Return the heads of the best tree: `int32 [batch, words]`.

    Args:
        arcs: The scores `[batch, words, words + 1]`.
        exists: Which of the arcs exist.
        single_root: Whether exactly one word has the root as its head.
    """
    never = tf.constant(-float("inf"), tf.float64)
    arcs = tf.where(exists, tf.cast(arcs, tf.float64), never)
    penalty = root_penalty(arcs)
    size = size_of(arcs, 1)
    ids = tf.range(size)
    if single_root:
        arcs = tf.concat([arcs[:, :, :1] - penalty[:, None, None], arcs[:, :, 1:]], axis=2)
    forbidden = -2 * tf.cast(size + 1, arcs.dtype) * penalty[:, None, None]  # used only if there is no other arc
    arcs = tf.where(exists, tf.maximum(arcs, forbidden), never)
    arcs = tf.where(exists[:, :, :1] | (tf.range(size + 1) > 0), arcs, tf.zeros_like(arcs))  # missing words: root
    loops = ids[:, None] + 1 == tf.range(size + 1)

    def take_out(word: tf.Tensor, arcs: tf.Tensor, by: tf.Tensor, choice: tf.Tensor) -> tuple:
        left = (tf.range(size + 1) == 0) | (tf.range(size + 1) > word + 1)
        row = tf.where(left, arcs[:, word], never)  # [batch, words + 1]
        gain = row - tf.reduce_max(row, axis=-1, keepdims=True)
        around = arcs[:, :, word + 1, None] + gain[:, None]
        better = (around > arcs) & (ids > word)[:, None] & ~loops
        own = tf.argmax(row, axis=-1, output_type=tf.int32)[:, None]
        choice = tf.where(ids == word, own, choice)
        return word + 1, tf.where(better, around, arcs), tf.where(better, word, by), choice

    def bring_back(left: tf.Tensor, heads: tf.Tensor, order: tf.Tensor) -> tuple:
        word = left - 1
        users = (tf.gather(by, heads, batch_dims=2) == word) & (ids > word)
        place = tf.reduce_min(tf.where(users, order, size - left), axis=-1, keepdims=True)  # heads precede their words
        first = users & (order == place)
        passed = tf.reduce_sum(tf.where(first, heads, 0), axis=-1, keepdims=True)
        own = tf.where(tf.reduce_any(users, axis=-1, keepdims=True), passed, choice)
        heads = tf.where(ids == word, own, tf.where(users, left, heads))
        order = tf.where(ids == word, place, order + tf.cast(order >= place, tf.int32))
        return word, heads, order

    zero_masked = tf.zeros_like(arcs[:, :, 0], tf.int32)
    start = (0, arcs, -tf.ones_like(arcs, tf.int32), zero_masked)
    _, _, by, choice = repeat(lambda word, *_: word < size, take_out, start, size)
    _, heads, _ = repeat(lambda left, *_: left > 0, bring_back, (size, zero_masked, zero_masked), size)
    return tf.where(exists[:, :, 0], heads, tf.zeros_like(heads))


def draw(arcs: tf.Tensor, roots: tf.Tensor | None, possible: tf.Tensor, n: int, seed: tf.Tensor) -> tf.Tensor:
    """Draw the heads of random trees, `int32 [n, batch, words]`.

    Args:
        arcs: The scores `[batch, words, words + 1]` in float64, `-inf` for missing arcs.
        roots: The probability `[batch, words]` of each word to be the only child of the root, or None if the root may
            have several children.
        possible: Whether each row has a tree at all, `[batch]`. Rows without one get zeros.
        n: The number of trees for every row.
        seed: Two integers.
    """
    batch, size = size_of(arcs, 0), size_of(arcs, 1)
    real = tf.reduce_any(arcs > -float("inf"), axis=-1) & possible[:, None]
    ids = tf.range(size)

    def numbers(turn: tf.Tensor | int, *shape: tf.Tensor | int) -> tf.Tensor:
        return uniform(shape, step_seed(seed, turn), tf.float64)

    fixed = tf.broadcast_to(~real, [n, batch, size])  # words whose head is the root
    if roots is not None:
        chosen = _pick(roots, numbers(0, n, batch))
        fixed |= chosen[:, :, None] == ids
        arcs = tf.where(tf.range(size + 1) > 0, arcs, tf.constant(-float("inf"), arcs.dtype))
    top = tf.reduce_max(arcs, axis=-1, keepdims=True)
    weights = tf.exp(arcs - tf.where(top > -float("inf"), top, tf.zeros_like(top)))

    def again(turn: tf.Tensor, heads: tf.Tensor, cycle: tf.Tensor) -> tuple:
        fresh = tf.where(fixed, 0, _pick(weights, numbers(turn, n, batch, size)))
        heads = tf.where(cycle, fresh, heads)
        return turn + 1, heads, _on_cycles(heads)

    zero_masked = tf.zeros([n, batch, size], tf.int32)
    start = (1, zero_masked, tf.ones_like(zero_masked, tf.bool))
    _, heads, cycle = repeat(lambda turn, heads, cycle: tf.reduce_any(cycle), again, start, ROUNDS)
    late = tf.reduce_any(cycle, axis=-1, keepdims=True)

    def one_by_one() -> tf.Tensor:
        return tf.where(late, _word_by_word(arcs, fixed, numbers(ROUNDS + 1, n, batch, size)), heads)

    return tf.cond(tf.reduce_any(late), one_by_one, lambda: heads)


def _pick(weights: tf.Tensor, numbers: tf.Tensor) -> tf.Tensor:
    """Draw an index of the last axis in proportion to its weight: `[..., size], [n, ...] -> int32 [n, ...]`."""
    sums = tf.cumsum(weights, axis=-1)
    before = sums <= numbers[..., None] * sums[..., -1:]
    return tf.minimum(tf.reduce_sum(tf.cast(before, tf.int32), axis=-1), tf.shape(weights)[-1] - 1)


def _on_cycles(heads: tf.Tensor) -> tf.Tensor:
    """Return which words are on a cycle: those that are reached after at least as many steps as there are words."""
    size = size_of(heads, 2)
    steps = tf.pad(heads, [[0, 0], [0, 0], [1, 0]])

    def double(reach: tf.Tensor, steps: tf.Tensor) -> tuple:
        return 2 * reach, tf.gather(steps, steps, batch_dims=2)

    _, steps = repeat(lambda reach, _: reach < size, double, (1, steps), 31)
    return tf.reduce_any(steps[..., None] == tf.range(1, size + 1), axis=-2)


def _word_by_word(arcs: tf.Tensor, fixed: tf.Tensor, numbers: tf.Tensor) -> tf.Tensor:
    """Draw the head of every word given the heads of the previous words: `int32 [n, batch, words]`."""
    shape, size = tf.shape(fixed), size_of(arcs, 1)
    never = tf.constant(-float("inf"), arcs.dtype)

    def to(head: tf.Tensor) -> tf.Tensor:
        return tf.where(tf.range(size + 1) == head[..., None], tf.zeros([], arcs.dtype), never)

    graph = tf.where(fixed[..., None], to(tf.zeros(shape, tf.int32)), arcs)
    graph = tf.reshape(graph, [-1, size, size + 1])
    numbers = tf.reshape(numbers, [-1, size])

    def step(word: tf.Tensor, graph: tf.Tensor, heads: tf.Tensor) -> tuple:
        reach = graph[:, word] + tf.pad(escape(graph, word), [[0, 0], [1, 0]])
        top = tf.reduce_max(reach, axis=-1, keepdims=True)
        weights = tf.exp(reach - tf.where(top > never, top, tf.zeros_like(top)))
        head = _pick(weights, numbers[:, word])[:, None]
        mine = tf.range(size) == word
        return word + 1, tf.where(mine[:, None], to(head), graph), tf.where(mine, head, heads)

    start = (0, graph, tf.zeros_like(numbers, tf.int32))
    _, _, heads = repeat(lambda word, *_: word < size, step, start, size)
    return tf.reshape(heads, shape)
