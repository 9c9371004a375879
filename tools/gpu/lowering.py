"""TensorFlow functions and training steps as programs that XLA compiles elsewhere, in serialized HLO."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
import tensorflow as tf
from tensorflow.compiler.xla.service import hlo_pb2
from tensorflow.python.framework.auto_control_deps_utils import get_read_only_resource_input_indices_graph

from seqattn_tf.training.xla import NotCompiled, reason

_UNCOMPILED = "Failed getting HLO text: '"  # the beginning of TensorFlow's message


class Step(NamedTuple):
    """A training step as a program: `(batch, parameters) -> (loss, results)`.

    Args:
        hlo: The serialized program.
        parameters: The indices of the variables that it takes, in order; constants follow the variables.
        results: The indices of the variables that it changes, in order.
    """

    hlo: bytes
    parameters: list[int]
    results: list[int]


def lower(function: Callable[..., Any], specs: Sequence[tf.TensorSpec]) -> bytes:
    """Return a function of tensors of fixed shapes as serialized HLO."""
    return _hlo(tf.function(function, jit_compile=True, autograph=False), specs)


def lower_step(network: keras.Model, variables: Sequence[Any], batch: Any, constants: list[Any]) -> Step:
    """Return the training step of a compiled network, `network.train_step`, for batches shaped like `batch`.

    Args:
        network: The network.
        variables: All variables that the step depends on (see `state_of`).
        batch: A batch as `fit` gets it, of tensors.
        constants: Tensors that the step depends on, from earlier calls; new ones are appended.

    Raises:
        NotCompiled: If XLA cannot compile the step.
    """

    def step(*flat: tf.Tensor) -> tf.Tensor:
        return network.train_step(tf.nest.pack_sequence_as(batch, flat))["loss"]

    compiled = tf.function(step, jit_compile=True, autograph=False)
    specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in tf.nest.flatten(batch)]
    try:
        hlo = _hlo(compiled, specs)
        graph = compiled.get_concrete_function(*specs)
    except (tf.errors.OpError, ValueError) as error:
        message = getattr(error, "message", str(error))
        if isinstance(error, ValueError) and not message.startswith(_UNCOMPILED):
            raise
        expected = "prepare: expected a network that XLA can compile"
        raise NotCompiled(f"{expected}. Received: {reason(message.removeprefix(_UNCOMPILED))}") from error
    place = {id(variable.value.handle): index for index, variable in enumerate(variables)}
    held = {id(constant): len(variables) + index for index, constant in enumerate(constants)}
    read_only = {index - len(specs) for index in get_read_only_resource_input_indices_graph(graph.graph)}
    parameters, results = [], []
    for index, captured in enumerate(graph.captured_inputs):
        if captured.dtype != tf.resource:
            if id(captured) not in held:
                held[id(captured)] = len(variables) + len(constants)
                constants.append(captured)
            parameters.append(held[id(captured)])
        elif id(captured) not in place:
            raise NotCompiled(f"prepare: expected a step of the network's own variables. Received: {captured.name}")
        else:
            parameters.append(place[id(captured)])
            if index not in read_only:
                results.append(place[id(captured)])
    return Step(hlo, parameters, results)


def _hlo(compiled: Any, specs: Sequence[tf.TensorSpec]) -> bytes:
    return without_copies(compiled.experimental_get_compiler_ir(*specs)(stage="hlo_serialized"))


def without_copies(hlo: bytes) -> bytes:
    """Replace copies, with which TensorFlow returns variables, by reshapes to the same shape.

    JAX 0.11 translates programs to StableHLO, which has no copies.
    """
    module = hlo_pb2.HloModuleProto.FromString(hlo)
    for computation in module.computations:
        for instruction in computation.instructions:
            if instruction.opcode == "copy":
                instruction.opcode = "reshape"
    return module.SerializeToString()
