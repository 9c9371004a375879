"""What the layers of the house share: found by name, made of parts, masks passed explicitly."""

from numbers import Integral
from typing import Any, ClassVar

import keras
import tensorflow as tf


def checked_count(name: str, value: Any) -> int:
    """The value itself, a positive integer; anything else is refused.

    >>> checked_count("units", 8)
    8
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name}: expected a positive integer. Received: {value!r}")
    return int(value)


class Named:
    """A family of classes found by the name each carries.

    The head of a family sets `registry = {}`; a member sets `name_in_registry`.

    >>> class Colour(Named):
    ...     registry = {}
    >>> class Red(Colour):
    ...     name_in_registry = "red"
    >>> type(Colour.get("red")).__name__
    'Red'
    """

    registry: ClassVar[dict[str, type]]
    name_in_registry: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name_in_registry" in cls.__dict__:
            cls.registry[cls.name_in_registry] = cls

    @classmethod
    def get(cls, choice: Any, **arguments: Any) -> Any:
        """The object of that name, made with the arguments; or the given object as it is."""
        if isinstance(choice, cls):
            return choice
        if choice not in cls.registry:
            family, names = cls.__name__, sorted(cls.registry)
            raise ValueError(f"{family.lower()}: expected one of {names} or a {family}. Received: {choice!r}")
        return cls.registry[choice](**arguments)


class Composed(keras.layers.Layer):
    """A layer that is made of other layers and takes its masks as arguments: none travels with its results.

    A subclass names in `parts` the constructor arguments that are layers; they are saved and rebuilt with it.

    Keras's `compile(jit_compile="auto")` compiles a whole model by XLA where all its layers support that. On a CPU
    these layers say no: the large matrix products of the plain graph are faster there, and what gains by XLA, the loop
    over time in training, is compiled by the layer itself. `tf.function(jit_compile=True)` around a model compiles
    everything.
    """

    parts: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.supports_jit = any(device.device_type != "CPU" for device in tf.config.list_physical_devices())

    def compute_mask(self, *arguments: Any, **keywords: Any) -> None:
        """No mask travels."""
        return None

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments, parts included."""
        parts = {name: keras.saving.serialize_keras_object(getattr(self, name)) for name in self.parts}
        return {**super().get_config(), **parts}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Composed":
        """Rebuild, parts included."""
        parts = {name: keras.saving.deserialize_keras_object(config[name]) for name in cls.parts}
        return cls(**{**config, **parts})
