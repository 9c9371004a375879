"""What every layer must survive: saving with every argument at a value that is not the default."""

import keras
import numpy as np

ALL = {"return_sequences": True, "return_state": True}  # of a recurrent network


def roundtrip(layer):
    """The layer rebuilt from its serialised form, through JSON."""
    stored = keras.saving.serialize_keras_object(layer)
    again = keras.saving.deserialize_keras_object(stored)
    assert keras.saving.serialize_keras_object(again) == stored
    return again


def random(*shape, seed=0, dtype="float32"):
    """Normal numbers, the same at every call."""
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)
