"""Recursion over trees, for all nodes of the same height in a batch at once."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.masking import mask_of, masked_values, zero_masked
from seqattn_tf.core.scan import repeat, size_of
from seqattn_tf.recurrent.base import Returning
from seqattn_tf.recurrent.compositions import Composition


def balanced_tree(mask: tf.Tensor) -> tf.Tensor:
    """Return the children of every node of the balanced binary tree over the unmasked positions of each row.

    A span of unmasked positions is halved; if its length is odd, the right half is the longer one. For `T` positions,
    nodes 0 to T - 1 are the leaves, each at its own position, and node `T - 1 + m` joins the span that ends before the
    m-th unmasked position with the span that begins there.

    Args:
        mask: The mask `[batch, T]`, True = keep.

    Returns `int32 [batch, 2 T - 1, 2]`, with -1 for no child.

    >>> balanced_tree(tf.constant([[True, True, True]]))[0, 3:].numpy().tolist()  # joins 0 with 4, which joins 1 with 2
    [[0, 4], [1, 2]]
    """
    size = size_of(mask, 1)
    length = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1, keepdims=True)
    split = 1 + tf.range(tf.maximum(size, 1) - 1)[None] + tf.zeros_like(length)  # [batch, T - 1], split points

    def narrow(low: tf.Tensor, high: tf.Tensor) -> tuple:
        middle = (low + high) // 2
        return tf.where(split > middle, middle, low), tf.where(split < middle, middle, high)

    def going(low: tf.Tensor, high: tf.Tensor) -> tf.Tensor:
        return tf.reduce_any(tf.logical_and(split < length, (low + high) // 2 != split))

    low, high = repeat(going, narrow, (tf.zeros_like(split), length + tf.zeros_like(split)), limit=32)

    places = tf.range(size)
    order = tf.argsort(tf.where(mask, places, places + size), axis=1)  # unmasked positions first: [batch, T]

    def child(low: tf.Tensor, high: tf.Tensor) -> tf.Tensor:
        leaf = tf.gather(order, tf.clip_by_value(low, 0, size - 1), batch_dims=1)
        node = tf.where(high - low == 1, leaf, size - 1 + (low + high) // 2)
        return tf.where(split < length, node, -1)

    inner = tf.stack([child(low, split), child(split, high)], axis=-1)
    leaves = tf.fill([size_of(mask, 0), size, 2], -1)
    return tf.concat([leaves, inner], axis=1)


def heights(children: tf.Tensor) -> tf.Tensor:
    """Return the height of every node above its farthest leaf: `[batch, nodes, children] -> [batch, nodes]`.

    >>> heights(tf.constant([[[1, 2], [-1, -1], [3, -1], [-1, -1]]])).numpy().tolist()
    [[2, 0, 1, 0]]
    """

    def lift(found: tf.Tensor) -> tf.Tensor:
        below = tf.gather(found, tf.maximum(children, 0), batch_dims=1)
        return tf.reduce_max(tf.where(children >= 0, below, -1), axis=-1) + 1

    flat, nodes = tf.zeros_like(children[..., 0]), size_of(children, 1)
    found, _ = repeat(
        lambda found, higher: tf.reduce_any(found != higher),
        lambda _, higher: (higher, lift(higher)),
        (flat, lift(flat)),
        limit=nodes,
    )
    tf.debugging.assert_less(found, nodes, "children: expected trees without cycles")
    return found


def _count(numbers: tf.Tensor, size: tf.Tensor | int) -> tf.Tensor:
    """Count how often each number below `size` occurs in its row: `[batch, n] -> [batch, size]`."""
    rows = size_of(numbers, 0)
    ids = tf.where(tf.logical_or(numbers < 0, numbers >= size), -1, numbers + size * tf.range(rows)[:, None])
    counts = tf.math.unsorted_segment_sum(tf.ones_like(numbers), ids, rows * size)
    return tf.reshape(counts, [rows, size])


def _parents(children: tf.Tensor) -> tf.Tensor:
    """Return the number of parents of each node: `[batch, nodes, children] -> [batch, nodes]`."""
    rows, nodes, most = (size_of(children, axis) for axis in range(3))
    return _count(tf.reshape(children, [rows, nodes * most]), nodes)


@keras.saving.register_keras_serializable("seqattn_tf")
class TreeRecurrent(Returning):
    """A recursive network that composes the states of children into that of their parent, from the leaves up.

    All nodes of the same height are composed at once over the whole batch, so there are as many steps as the highest
    tree has levels. In a graph with a known number of nodes, as XLA requires, each step has room for half of the nodes,
    the maximum number that can have the same height above the leaves. Elsewhere it has room only for the nodes of the
    largest level.

    Args:
        composition: A `Composition`, or its name together with `units`: `"child_sum"` (TreeLSTM, any number of
            children), `"binary"` (TreeLSTM, left and right child) or `"tensor"` (bilinear, left and right child).
        units: The size of the state, if the composition is given by name.
        return_sequences: Whether to return the output at every node instead of the root's alone.
        return_state: Whether to return the states at the root in addition to the output.

    Call arguments:
        inputs: With `children`, the inputs of every node `[batch, nodes, features]`. Without, the inputs of the leaves
            `[batch, leaves, features]`; the tree is then the balanced one over the unmasked leaves (see
            `balanced_tree`), with zero inputs at its inner nodes.
        mask: The mask `[batch, nodes or leaves]`, True = keep. A masked node is no child and outputs zeros.
        children: The children of each node, `int [batch, nodes, most children]`, with negative numbers for no child.
            Nodes may be in any order. Every node is the child of at most one other node.

    Returns the output at the root `[batch, units]`. With `return_sequences`, it returns the output at every node
    `[batch, nodes, units]` and propagates the mask of the nodes; with `return_state`, also the states at the root. The
    root is the highest node without a parent, the first of these if there are several; without any node, it is zero.

    >>> TreeRecurrent("binary", units=4)(tf.ones([2, 5, 3])).shape.as_list()
    [2, 4]
    >>> nodes, hidden, memory = TreeRecurrent("binary", 4, return_sequences=True, return_state=True)(tf.ones([2, 5, 3]))
    >>> nodes.shape.as_list(), memory.shape.as_list()
    ([2, 9, 4], [2, 4])
    """

    parts = ("composition",)

    def __init__(
        self,
        composition: str | Composition = "child_sum",
        units: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(return_sequences, return_state, **kwargs)
        if isinstance(composition, str) and units is None:
            raise ValueError(f"units: expected a number for the composition {composition!r}. Received: None")
        size = {} if units is None else {"units": units}
        self.composition = Composition.get(composition, dtype=self.dtype_policy, **size)

    @property
    def output_size(self) -> int:
        return self.composition.units

    @property
    def state_size(self) -> list[int]:
        return [self.composition.units] * self.composition.state_count

    def steps(self, inputs_shape: Any, children_shape: Any = None, **others: Any) -> int | None:
        """Return the number of nodes: those given, or those of the balanced tree over the leaves."""
        leaves = inputs_shape[1]
        return leaves if children_shape is not None or leaves is None else max(2 * leaves - 1, 0)

    def steps_kept(self, mask: Any) -> Any:
        """Return the mask of the nodes: the unmasked leaves, and one inner node fewer."""
        ops = keras.ops
        count = ops.sum(ops.cast(mask, "int32"), axis=1, keepdims=True)
        places = ops.cumsum(ops.ones_like(mask, dtype="int32"), axis=1)[:, :-1]  # counted from 1
        return ops.concatenate([ops.cast(mask, "bool"), places < count], axis=1)

    def masks_on(self, inputs: Any = None, mask: Any = None, children: Any = None, **others: Any) -> Any:
        """Propagate the mask of the inputs as the mask of the nodes, if `children` is given."""
        return [mask_of(inputs, mask)] if self.return_sequences and children is not None else None

    def build(self, inputs_shape: Any) -> None:
        if not self.composition.built:
            self.composition.build(inputs_shape)
        self.built = True

    def _tree(self, inputs: tf.Tensor, mask: tf.Tensor | None, children: Any) -> tuple:
        """Return the projected inputs of all nodes, the mask of the nodes, and their children."""
        inputs, mask = masked_values(inputs, mask)
        projected = self.composition.project(inputs)
        if children is not None:
            children = self._checked(tf.convert_to_tensor(children), inputs)
            kept = tf.gather(mask, tf.maximum(children, 0), batch_dims=1)
            there = tf.logical_and(tf.logical_and(kept, mask[..., None]), children >= 0)
            return projected, mask, tf.where(there, children, -1)
        children = balanced_tree(mask)
        inner = children[:, size_of(inputs, 1) :]
        bare = self.composition.project(tf.zeros([1, inputs.shape[-1]], inputs.dtype))
        bare = tf.broadcast_to(bare, [size_of(inputs, 0), size_of(inner, 1), projected.shape[-1]])
        return tf.concat([projected, bare], 1), tf.concat([mask, inner[..., 0] >= 0], 1), children

    def _checked(self, children: tf.Tensor, inputs: tf.Tensor) -> tf.Tensor:
        if not children.dtype.is_integer or children.shape.rank != 3:
            raise ValueError(
                "children: expected integers [batch, nodes, max children]. "
                f"Received: {children.dtype.name} {children.shape}"
            )
        most = self.composition.most_children
        if children.shape[-1] == 0 or (most is not None and children.shape[-1] != most):
            raise ValueError(f"children: expected {most or 'at least one'} per node. Received: shape {children.shape}")
        if not children.shape[:2].is_compatible_with(inputs.shape[:2]):
            raise ValueError(f"children: expected one row for each node of {inputs.shape}. Received: {children.shape}")
        children = tf.cast(children, tf.int32)
        nodes = size_of(children, 1)
        known = tf.debugging.assert_less(children, nodes, "children: expected node indices")
        single = tf.debugging.assert_less(_parents(children), 2, "children: expected at most one parent per node")
        with tf.control_dependencies([one for one in (known, single) if one is not None]):
            return tf.identity(children)

    def call(self, inputs: tf.Tensor, mask: tf.Tensor | None = None, children: tf.Tensor | None = None) -> Any:
        """Compose the states level by level and return what the return options select."""
        if inputs.shape.rank != 3:
            raise ValueError(f"inputs: expected [batch, nodes, features]. Received shape: {inputs.shape}")
        projected, mask, children = self._tree(inputs, mask, children)
        states = [zero_masked(state, mask) for state in self.composition.leaf(projected)]
        height = heights(children)
        if height.shape[1] not in (0, 1):  # skipped if there cannot be any parents
            states = self._climb(states, projected, children, height)
        root = self._root(states, mask, children, height)
        return self.returned(states[0], root[0], root)

    def _climb(self, states: list[tf.Tensor], projected: tf.Tensor, children: tf.Tensor, height: tf.Tensor) -> list:
        """Compute the states of the parents, one level after the other."""
        nodes, most = size_of(height, 1), size_of(children, 2)
        order = tf.argsort(height, axis=1, stable=True)  # nodes sorted by height
        place = tf.argsort(order, axis=1)  # the index of each node in this order
        top = tf.reduce_max(tf.pad(height, [[0, 1], [0, 1]]))
        room = nodes // 2
        if tf.executing_eagerly() or not isinstance(nodes, int):
            room = tf.reduce_max(tf.pad(_count(height - 1, nodes), [[0, 1], [0, 1]]))
        slots = tf.range(room)[None]

        def climb(level: tf.Tensor, *states: tf.Tensor) -> tuple:
            lower = tf.reduce_sum(tf.cast(height < level, tf.int32), axis=1, keepdims=True)
            parents = tf.gather(order, tf.minimum(lower + slots, nodes - 1), batch_dims=1)  # [batch, room]
            own = tf.gather(children, parents, batch_dims=1)  # [batch, room, children]
            below = [tf.gather(state, tf.maximum(own, 0), batch_dims=1) for state in states]
            below = [tf.reshape(zero_masked(state, own >= 0), [-1, most, state.shape[-1]]) for state in below]
            drives = tf.gather(projected, parents, batch_dims=1)
            new = self.composition.compose(tf.reshape(drives, [-1, projected.shape[-1]]), below)
            rows = tf.shape(parents)
            new = [tf.reshape(one, [rows[0], rows[1], one.shape[-1]]) for one in new]
            here = tf.clip_by_value(place - lower, 0, room - 1)  # the index of each node among the parents
            new = [tf.gather(one, here, batch_dims=1) for one in new]
            this = (height == level)[..., None]
            return level + 1, *(tf.where(this, one, state) for one, state in zip(new, states, strict=True))

        _, *states = repeat(lambda level, *_: level <= top, climb, (tf.constant(1), *states), limit=nodes)
        return states

    def _root(self, states: list[tf.Tensor], mask: tf.Tensor, children: tf.Tensor, height: tf.Tensor) -> list:
        """Return the states at the highest unmasked node without a parent."""
        parents = _parents(children)
        rank = tf.where(tf.logical_and(mask, parents == 0), height, -1)
        root = tf.argmax(tf.pad(rank, [[0, 0], [0, 1]], constant_values=-2), axis=1)  # padding: no root
        return [tf.gather(tf.pad(state, [[0, 0], [0, 1], [0, 0]]), root, batch_dims=1) for state in states]
