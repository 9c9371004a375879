"""Base classes of our layers: registration by name, propagation of masks, composition of parts."""

import inspect
from typing import Any, ClassVar

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.core.registry import Registered


def as_tensor(values: Any, dtype: Any) -> Any:
    """Return tensors unchanged; convert other values to a tensor of this data type.

    >>> as_tensor([1, 2], "float32").dtype.name
    'float32'
    """
    return values if tf.is_tensor(values) else tf.convert_to_tensor(values, dtype)


def _dense(tensor: Any) -> Any:
    """Mark a symbolic tensor as dense.

    In a functional model, Keras declares the result of `x * 2.0` as possibly sparse, but the actual values are dense.
    """
    if isinstance(tensor, keras.KerasTensor) and tensor.sparse:
        return keras.KerasTensor(tensor.shape, tensor.dtype, name=tensor.name)
    return tensor


class RegisteredLayer(Registered, keras.layers.Layer):
    """A family of layers found by name, also by Keras: members outside the package are saved without a decorator."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name_in_registry" in cls.__dict__:
            keras.saving.register_keras_serializable(cls.__module__)(cls)


class Masked(keras.layers.Layer):
    """A layer that handles masks as Keras's own layers do.

    `call` has an argument `mask`; without one, it uses the implicit mask of the values (`masking.mask_of`).
    `compute_mask` returns the masks to propagate; by default there are none, as for a pooled vector. Keras does not
    pass all arguments of a call to `compute_mask`; where that is not enough, override `masks_on`.
    """

    _names: ClassVar[tuple[str, ...]] = ()  # the names of the arguments of `call`

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._names = tuple(inspect.signature(cls.call).parameters)[1:]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the layer; a positional mask is passed by name, because Keras propagates only those."""
        for one in (*arguments, *named.values()):
            if isinstance(one, tf.SparseTensor):
                raise ValueError(
                    f"{self.name}: expected dense tensors; convert them with tf.sparse.to_dense. Received: {one!r}"
                )
        place = self._names.index("mask") if "mask" in self._names else len(arguments)
        moved = dict(zip(self._names[place:], arguments[place:], strict=False))
        if moved and len(arguments) <= len(self._names) and not moved.keys() & named.keys():
            arguments, named = arguments[:place], {**named, **moved}
        for name, one in named.items():
            if name.endswith("mask") and isinstance(one, (list, tuple, np.ndarray)):
                named[name] = tf.convert_to_tensor(one)  # otherwise Keras would propagate the first element of a list
        found = super().__call__(*arguments, **named)
        masks = self.masks_on(**dict(zip(self._names, arguments, strict=False)), **named)
        for tensor, mask in zip(keras.tree.flatten(found), masks or (), strict=False):
            tensor._keras_mask = mask
        return found

    def masks_on(self, **given: Any) -> Any:
        """Return the masks of the results in order, given the arguments of the call, or None to use `compute_mask`."""
        return None

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Return no mask."""
        return None

    def compute_output_spec(self, *arguments: Any, **named: Any) -> Any:
        """Return the shapes and data types by tracing `call` itself, which also checks the arguments."""
        arguments, named = keras.tree.map_structure(_dense, (arguments, named))
        return super(keras.layers.Layer, self).compute_output_spec(*arguments, **named)


class Composed(Masked):
    """A layer that consists of other layers.

    A subclass lists in `parts` the constructor arguments that are layers; they are saved and restored with it.

    With `compile(jit_compile="auto")`, Keras compiles a whole model with XLA on an accelerator, but not on a CPU: the
    large matrix products of the plain graph are faster there, and the loop over time in training, which benefits from
    XLA, is compiled by the layer itself. With `compile(jit_compile=True)`, everything is compiled on any device.
    """

    parts: ClassVar[tuple[str, ...]] = ()

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments, including the parts."""
        parts = {name: keras.saving.serialize_keras_object(getattr(self, name)) for name in self.parts}
        return {**super().get_config(), **parts}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Composed":
        """Restore the layer, including its parts."""
        parts = {name: keras.saving.deserialize_keras_object(config[name]) for name in cls.parts}
        return cls(**{**config, **parts})
