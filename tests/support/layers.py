"""Checks for every layer: saving with every argument at a value other than the default."""

import keras
import numpy as np

ALL = {"return_sequences": True, "return_state": True}  # of a recurrent network


def roundtrip(layer):
    """Rebuild a layer from its configuration in JSON."""
    stored = keras.saving.serialize_keras_object(layer)
    again = keras.saving.deserialize_keras_object(stored)
    assert keras.saving.serialize_keras_object(again) == stored
    return again


def random(*shape, seed=0, dtype="float32"):
    """Return normally distributed numbers, the same for each call with the same arguments."""
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)
