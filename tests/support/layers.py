"""What every layer must survive: saving with every argument at a value that is not the default."""

import contextlib

import keras
import numpy as np
import tensorflow as tf

ALL = {"return_sequences": True, "return_state": True}  # of a recurrent network


def roundtrip(layer):
    """The layer rebuilt from its serialised form, through JSON."""
    stored = keras.saving.serialize_keras_object(layer)
    again = keras.saving.deserialize_keras_object(stored)
    assert keras.saving.serialize_keras_object(again) == stored
    return again


@contextlib.contextmanager
def step_by_step(wanted=True):
    """Functions that would be traced run as they are: quicker where a graph would run once or twice."""
    tf.config.run_functions_eagerly(wanted)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)


def random(*shape, seed=0, dtype="float32"):
    """Normal numbers, the same at every call."""
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)
