"""The time loop of recurrent networks and decoders: a `scan`, or a loop compiled for training.

    carry[t] = step(elements[t], carry[t-1], constants)

Automatic differentiation of a loop stores every intermediate result of every step and accumulates the gradient of each
matrix step by step. The compiled loop stores only the carries and the results of the matrix products. Its backward pass
recomputes the rest of the step, collects the gradients of the products, and multiplies once for all steps:

    y[t] = x[t] M        dx[t] = dy[t] M'        dM = sum_t x[t]' dy[t] = X' dY

A step marks these products by calling `products.product`, as `linear` does; their matrices must be the same at every
step. Everything else in the step is differentiated as usual. XLA compiles the two loops, which contain many small
operations; the large products before and after them remain in the plain graph, whose kernels are faster.
"""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.masking import widen
from seqattn_tf.core.products import Replay, Watcher
from seqattn_tf.core.scan import scan, size_of, where_rows

_TWICE = "second derivatives are not supported through a compiled loop; pass jit_compile=False to the layer"


def compiles(jit_compile: bool | None, elements: Any, training: bool) -> bool:
    """Return whether to compile a loop over `elements`: as given, by default in training if its length is known.

    Each new length is compiled separately, which takes seconds. A graph that is exported for serving contains no
    compiled loops by default. Loops are never compiled outside a graph.
    """
    if tf.executing_eagerly():
        return False
    known = tf.nest.flatten(elements)[0].shape[0] is not None
    return bool(training and known) if jit_compile is None else jit_compile


@tf.autograph.experimental.do_not_convert
def recur(
    step: Callable[[Any, Any, Any], Any],
    elements: Any,
    initial: Any,
    constants: Any = (),
    variables: Sequence[keras.Variable] = (),
    mask: tf.Tensor | None = None,
    reverse: bool = False,
    compiled: bool = False,
) -> tuple[Any, Any]:
    """Run `carry = step(element, carry, constants)` over the leading axis of `elements`.

    Args:
        step: A function of one time slice of `elements`, the carry and the constants, which returns a carry of the same
            structure and shapes. It must not draw random numbers.
        elements, initial, mask, reverse: As in `scan`.
        constants: A structure of tensors that are passed to every step.
        variables: The Keras variables that the step reads.
        compiled: Whether XLA compiles the loops, forward and backward. There are no second derivatives then.

    Returns:
        The stacked carries `[time, batch, ...]` and the carry after the last step taken.

    >>> double = tf.constant([[2.0]])
    >>> def step(x, total, matrix):
    ...     return x + tf.matmul(total, matrix)
    >>> recur(step, tf.ones([3, 1, 1]), tf.zeros([1, 1]), constants=double)[1].numpy().tolist()
    [[7.0]]
    """
    if not compiled or tf.nest.flatten(elements)[0].shape[0] == 0:
        return scan(lambda element, carry: step(element, carry, constants), elements, initial, mask, reverse)
    loop = _Loop(step, list(variables), mask, reverse)
    layout = (elements, initial, constants, [variable.value for variable in variables])
    results = tf.custom_gradient(lambda *flat: loop.differentiable(layout, flat))(*tf.nest.flatten(layout))
    return tf.nest.pack_sequence_as((initial, initial), results)


class _Loop:
    """A compiled loop. `shared` are the inputs of all steps: the constants and the values of the variables."""

    def __init__(self, step: Callable, variables: list, mask: tf.Tensor | None, reverse: bool) -> None:
        self.step, self.variables, self.mask, self.reverse = step, variables, mask, reverse

    def differentiable(self, layout: Any, flat: Sequence[tf.Tensor]) -> tuple:
        """Return results and gradient in the form of `tf.custom_gradient`."""
        elements, initial, *shared = tf.nest.pack_sequence_as(layout, flat)
        slices = (elements, () if self.mask is None else self.mask)
        stacked, last, products = _compiled(self._forward)(slices, initial, shared)

        def gradient(*given: tf.Tensor) -> list:
            flows, last_flow = (_floats(part) for part in tf.nest.pack_sequence_as((stacked, last), given))
            before = tf.nest.map_structure(self._shifted, stacked, initial)
            flow, added, element, collected = _compiled(self._backward)(
                (slices, before, products, flows), last_flow, shared
            )
            found = [*element, *flow, *self._through_products(slices, initial, shared, added, collected)]
            once = iter([tf.raw_ops.PreventGradient(input=one, message=_TWICE) for one in found])
            return [next(once) if one.dtype.is_floating else None for one in flat]

        return tuple(tf.nest.flatten((stacked, last))), gradient

    def _run(self, slices: tuple, carry: Any, shared: Any, watcher: Watcher) -> Any:
        (element, keep), (constants, values) = slices, shared
        with keras.StatelessScope(list(zip(self.variables, values, strict=True))), watcher.watching():
            new = self.step(element, carry, constants)
        return new if self.mask is None else where_rows(keep, new, carry)

    def _shifted(self, stacked: tf.Tensor, initial: tf.Tensor) -> tf.Tensor:
        """Return the carry before every step."""
        parts = [stacked[1:], initial[None]] if self.reverse else [initial[None], stacked[:-1]]
        return tf.concat(parts, axis=0)

    def _forward(self, slices: tuple, initial: Any, shared: Any) -> tuple:
        def body(slices: tuple, carry: Any) -> tuple:
            watcher = Watcher()
            new = self._run(slices, carry, shared, watcher)
            return new, (new, watcher.results)

        last, (stacked, products) = _loop(body, slices, initial, self.reverse)
        return stacked, last, products

    def _backward(self, slices: tuple, flow: list, shared: Any) -> tuple:
        """Return the gradients of the backward loop and the products to be multiplied.

        The gradients are those of the initial carry, of `shared` outside products (None where there is none), and of
        the elements.
        """

        def one(slices: tuple, flow: list) -> tuple:
            inner, before, products, flows = slices
            watcher = Replay(products)
            sources = (_floats(inner[0]), _floats(before), products, _floats(shared))
            with tf.GradientTape() as tape:
                tape.watch(sources)
                new = self._run(inner, before, shared, watcher)
            total = [given + own for given, own in zip(flow, flows, strict=True)]
            *found, added = tape.gradient(_floats(new), sources, total)
            element, flow, results = (
                [tf.zeros_like(s) if g is None else tf.convert_to_tensor(g) for g, s in zip(part, source, strict=True)]
                for part, source in zip(found, sources, strict=False)
            )
            return flow, added, (element, watcher.inputs, results)

        _, added, _ = one(_first(slices), flow)  # traced only to find out which gradients exist, never executed
        flows_to = [gradient is not None for gradient in added]
        known = _Known()

        def body(slices: tuple, carry: tuple) -> tuple:
            flow, sums = carry
            flow, added, out = one(slices, flow)
            gained = [tf.convert_to_tensor(gradient) for gradient in added if gradient is not None]
            sums = [total + tf.cast(gain, total.dtype) for total, gain in zip(sums, gained, strict=True)]
            return (flow, sums), known.reduce(slices, out)

        wide = [one for one, flows in zip(_floats(shared), flows_to, strict=True) if flows]
        nothing = [tf.zeros_like(widen(one)) for one in wide]  # half precision is too narrow for sums over time
        (flow, sums), out = _loop(body, slices, (flow, nothing), not self.reverse)
        element, inputs, results = known.restore(slices, out)
        sums = iter([tf.cast(total, one.dtype) for total, one in zip(sums, wide, strict=True)])
        added = [next(sums) if flows else None for flows in flows_to]
        return flow, added, element, list(zip(inputs, results, strict=True))

    def _through_products(
        self, slices: tuple, initial: Any, shared: Any, added: list[tf.Tensor | None], collected: list
    ) -> list[tf.Tensor]:
        """Return the gradients of `shared`, with those of the products computed for all steps at once."""
        sources = _floats(shared)
        watcher = Watcher()
        first = _first(slices)
        moving = _floats((first[0], initial))
        with tf.GradientTape(persistent=True) as tape:
            tape.watch((sources, moving))
            self._run(first, initial, shared, watcher)  # traced only for its matrices, the rest is never executed
        if any(one is not None for one in tape.gradient(watcher.matrices, moving)):
            raise ValueError("product: expected a matrix that is constant over time. Received: a matrix that changes")
        flows = [_multiplied(*pair) for pair in collected]
        through = tape.gradient(watcher.matrices, sources, flows) if flows else [None] * len(sources)
        totals = []
        for source, *parts in zip(sources, added, through, strict=True):
            parts = [tf.convert_to_tensor(part) for part in parts if part is not None]
            totals.append(tf.add_n(parts) if parts else tf.zeros_like(source))
        return totals


class _Known:
    """A filter that avoids stacking outputs of a loop that are duplicates or slices of its elements."""

    def reduce(self, slices: Any, out: Any) -> list[tf.Tensor]:
        """Return the tensors of `out` that are new."""
        places = {id(one): ("elements", number) for number, one in enumerate(tf.nest.flatten(slices))}
        new: list[tf.Tensor] = []
        self._found, self._structure = [], out
        for tensor in tf.nest.flatten(out):
            if id(tensor) not in places:
                places[id(tensor)] = ("new", len(new))
                new.append(tensor)
            self._found.append(places[id(tensor)])
        return new

    def restore(self, elements: Any, new: list[tf.Tensor]) -> Any:
        """Return all of `out`, stacked, given the elements of the loop and its stacked outputs."""
        sources = {"elements": tf.nest.flatten(elements), "new": new}
        return tf.nest.pack_sequence_as(self._structure, [sources[kind][number] for kind, number in self._found])


def _compiled(function: Callable) -> Callable:
    return tf.function(function, jit_compile=True, autograph=False)


def _floats(structure: Any) -> list[tf.Tensor]:
    return [one for one in tf.nest.flatten(structure) if one.dtype.is_floating]


def _first(slices: Any) -> Any:
    return tf.nest.map_structure(lambda one: one[0], slices)


def _multiplied(inputs: tf.Tensor, flow: tf.Tensor) -> tf.Tensor:
    """Return `sum_t x[t]' dy[t]`: `[time, rows, n], [time, rows, m] -> [n, m]`, or one matrix per batch entry."""
    if inputs.shape.rank == 4:  # [time, batch, rows, n] -> [batch, time x rows, n]
        inputs, flow = (tf.transpose(one, [1, 0, 2, 3]) for one in (inputs, flow))
        inputs, flow = (tf.reshape(one, [size_of(one, 0), -1, size_of(one, 3)]) for one in (inputs, flow))
    else:
        inputs, flow = (tf.reshape(one, [-1, size_of(one, 2)]) for one in (inputs, flow))
    return tf.matmul(inputs, flow, transpose_a=True)


def _loop(body: Callable, elements: Any, carry: Any, reverse: bool) -> tuple[Any, Any]:
    """Run `carry, out = body(slices, carry)` along the leading axis; return the last carry and the stacked outputs."""
    flat = tf.nest.flatten(elements)
    length = size_of(flat[0], 0)
    _, emitted = body(_first(elements), carry)  # traced only for its shapes, never executed

    def array(like: tf.Tensor) -> tf.TensorArray:
        return tf.TensorArray(like.dtype, length, element_shape=like.shape)

    sources = [array(one[0]).unstack(one) for one in flat]
    targets = [array(one) for one in tf.nest.flatten(emitted)]

    def step(number: tf.Tensor, carry: Any, targets: list) -> tuple:
        place = length - 1 - number if reverse else number
        slices = tf.nest.pack_sequence_as(elements, [source.read(place) for source in sources])
        new, out = body(slices, carry)
        new = tf.nest.map_structure(lambda n, o: tf.ensure_shape(n, o.shape), new, carry)
        return number + 1, new, [t.write(place, o) for t, o in zip(targets, tf.nest.flatten(out), strict=True)]

    state = (tf.constant(0), carry, targets)
    _, carry, targets = tf.while_loop(lambda number, *_: number < length, step, state, maximum_iterations=length)
    return carry, tf.nest.pack_sequence_as(emitted, [target.stack() for target in targets])
