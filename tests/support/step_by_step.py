"""Answers and trainings in eager mode instead of a graph, which takes seconds to trace for every model.

The tests of exports and of the contract of models compare graphs with eager execution; the tests of resumed,
distributed and compiled training cover traced training steps.
"""

from contextlib import contextmanager, nullcontext

import pytest


@contextmanager
def answering_eagerly():
    """Let every model compute its answers eagerly."""
    from seqattn_tf.models.base import Model

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Model, "traced", lambda self, name, run, inputs: run)
        yield


@contextmanager
def untraced(wanted=True):
    """Disable the tracing of `tf.function`, which is faster for a few runs. Dataset maps are still traced."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(wanted)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)


@contextmanager
def unimproved():
    """Disable graph optimization, which takes longer than all steps of a short training."""
    import tensorflow as tf

    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})


@pytest.fixture(autouse=True)
def step_by_step(request):
    """Let every model compute its answers eagerly, unless the test is marked `traced`."""
    with nullcontext() if request.node.get_closest_marker("traced") else answering_eagerly():
        yield


def is_slow(request):
    """Return whether a test is slow; such tests train long enough to benefit from a graph, and export."""
    return request.node.get_closest_marker("slow") is not None


@pytest.fixture
def eagerly(request):
    """Disable tracing in a test with very short trainings."""
    with untraced(not is_slow(request)):
        yield


@pytest.fixture
def as_traced(request):
    """Disable graph optimization in a test."""
    with nullcontext() if is_slow(request) else unimproved():
        yield
