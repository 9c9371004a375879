"""Answers and trainings step by step instead of through a graph, which takes seconds to trace for every model.

That graphs answer as models do is what the tests of exports and of the contract of models ask; that traced steps learn,
those of runs that are resumed, distributed or compiled.
"""

from contextlib import contextmanager, nullcontext

import pytest


@contextmanager
def answering_eagerly():
    """Every model computes its answers eagerly."""
    from seqattn_tf.models.base import Model

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Model, "traced", lambda self, name, run, inputs: run)
        yield


@contextmanager
def untraced(wanted=True):
    """No `tf.function` is traced: quicker where a graph would run a few times. Maps of data still are."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(wanted)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)


@contextmanager
def unimproved():
    """Graphs run as they were traced: to improve one takes longer than all its steps in a short training."""
    import tensorflow as tf

    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})


@pytest.fixture(autouse=True)
def step_by_step(request):
    """Every model computes its answers eagerly, unless the test is marked `traced`."""
    with nullcontext() if request.node.get_closest_marker("traced") else answering_eagerly():
        yield


def is_slow(request):
    """Slow tests train long enough for a graph, and export."""
    return request.node.get_closest_marker("slow") is not None


@pytest.fixture
def eagerly(request):
    """A test whose trainings are so short that tracing them takes longer."""
    with untraced(not is_slow(request)):
        yield


@pytest.fixture
def as_traced(request):
    """A test whose graphs run as they were traced."""
    with nullcontext() if is_slow(request) else unimproved():
        yield
