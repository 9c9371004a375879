"""What our layers share: made of parts, masks that travel."""

import inspect
from typing import Any, ClassVar

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.core.registry import Registered


def as_tensor(values: Any, dtype: Any) -> Any:
    """A tensor as it is; numbers of any other kind as a tensor of this type.

    >>> as_tensor([1, 2], "float32").dtype.name
    'float32'
    """
    return values if tf.is_tensor(values) else tf.convert_to_tensor(values, dtype)


def _dense(tensor: Any) -> Any:
    """Keras says of `x * 2.0`, in a functional model, that it might be sparse; what comes then is dense."""
    if isinstance(tensor, keras.KerasTensor) and tensor.sparse:
        return keras.KerasTensor(tensor.shape, tensor.dtype, name=tensor.name)
    return tensor


class RegisteredLayer(Registered, keras.layers.Layer):
    """A family of layers found by their names, by Keras as well: a member from outside is saved without a decorator."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name_in_registry" in cls.__dict__:
            keras.saving.register_keras_serializable(cls.__module__)(cls)


class Masked(keras.layers.Layer):
    """A layer whose masks come and go as those of Keras's own layers.

    `call` has an argument `mask`; where none is given, it takes the one that travels with what is masked
    (`masking.mask_of`). `compute_mask` says which masks travel on, by default none: of a pooled vector there is none.
    Keras does not tell it all that a call was given; where that matters, `masks_on` says it.
    """

    _names: ClassVar[tuple[str, ...]] = ()  # of the arguments of `call`

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._names = tuple(inspect.signature(cls.call).parameters)[1:]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """As of any layer; a mask given by its place is one given by name, which Keras lets travel on."""
        for one in (*arguments, *named.values()):
            if isinstance(one, tf.SparseTensor):
                raise ValueError(f"{self.name}: expected dense tensors, as of tf.sparse.to_dense. Received: {one!r}")
        place = self._names.index("mask") if "mask" in self._names else len(arguments)
        moved = dict(zip(self._names[place:], arguments[place:], strict=False))
        if moved and len(arguments) <= len(self._names) and not moved.keys() & named.keys():
            arguments, named = arguments[:place], {**named, **moved}
        for name, one in named.items():
            if name.endswith("mask") and isinstance(one, (list, tuple, np.ndarray)):
                named[name] = tf.convert_to_tensor(one)  # of a list, Keras would let the first number travel on
        found = super().__call__(*arguments, **named)
        masks = self.masks_on(**dict(zip(self._names, arguments, strict=False)), **named)
        for tensor, mask in zip(keras.tree.flatten(found), masks or (), strict=False):
            tensor._keras_mask = mask
        return found

    def masks_on(self, **given: Any) -> Any:
        """The masks of the results in their order, by the arguments of the call; None: as `compute_mask` says."""
        return None

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """No mask travels on."""
        return None

    def compute_output_spec(self, *arguments: Any, **named: Any) -> Any:
        """The shapes and types of `call` itself, which also sees to it that the arguments fit."""
        arguments, named = keras.tree.map_structure(_dense, (arguments, named))
        return super(keras.layers.Layer, self).compute_output_spec(*arguments, **named)


class Composed(Masked):
    """A layer that is made of other layers.

    A subclass names in `parts` the constructor arguments that are layers; they are saved and rebuilt with it.

    Keras's `compile(jit_compile="auto")` compiles a whole model by XLA on an accelerator, not on a CPU: the large
    matrix products of the plain graph are faster there, and what gains by XLA, the loop over time in training, is
    compiled by the layer itself. `compile(jit_compile=True)` compiles everything on any device.
    """

    parts: ClassVar[tuple[str, ...]] = ()

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments, parts included."""
        parts = {name: keras.saving.serialize_keras_object(getattr(self, name)) for name in self.parts}
        return {**super().get_config(), **parts}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Composed":
        """Rebuild, parts included."""
        parts = {name: keras.saving.deserialize_keras_object(config[name]) for name in cls.parts}
        return cls(**{**config, **parts})
