"""Training in mixed precision: steps compute in half precision, but weights and saved models are float32."""

import contextlib
from collections.abc import Iterator
from typing import Any

import keras

from seqattn_tf.models import Model


@contextlib.contextmanager
def made_in(precision: str) -> Iterator[None]:
    """Create layers with this precision inside the `with` block.

    >>> with made_in("mixed_bfloat16"):
    ...     keras.layers.Dense(2).compute_dtype
    'bfloat16'
    """
    usual = keras.config.dtype_policy()
    keras.config.set_dtype_policy(precision)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(usual)


def in_float32(model: Model) -> Model:
    """Return the same model with layers that compute in float32; the model itself if they already do."""
    if model.network.dtype_policy.compute_dtype == "float32":
        return model
    network = keras.saving.deserialize_keras_object(_plain(keras.saving.serialize_keras_object(model.network)))
    if not network.built:
        network.build()
    network.set_weights(model.network.get_weights())
    return type(model)(network, model.inputs, model.target, **model.settings)


def _plain(config: Any) -> Any:
    """Return a configuration with every mixed-precision policy replaced by float32."""
    if isinstance(config, dict):
        if config.get("class_name") == "DTypePolicy":
            return {**config, "config": {**config["config"], "name": "float32"}}
        return {name: _plain(value) for name, value in config.items()}
    if isinstance(config, str):
        return "float32" if config in ("mixed_bfloat16", "mixed_float16") else config
    return [_plain(value) for value in config] if isinstance(config, list | tuple) else config
