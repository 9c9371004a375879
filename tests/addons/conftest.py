"""Fixtures for the tests ported from TensorFlow Addons; most of them ran in single and in mixed precision."""

import keras
import pytest


@pytest.fixture(params=["float32", "mixed_float16"])
def policy(request):
    """The name of the global policy during a test."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(request.param)
    yield request.param
    keras.config.set_dtype_policy(before)
