"""Answers and trainings step by step instead of through a graph, which takes seconds to trace for every model.

That graphs answer as models do is what the tests of exports and of the contract of models ask; that traced steps learn,
those of runs that are resumed, distributed or compiled.
"""

from contextlib import contextmanager

import pytest


@pytest.fixture(autouse=True)
def step_by_step(request, monkeypatch):
    """Every model computes its answers eagerly, unless the test is marked `traced`."""
    from seqattn_tf.models.base import Model

    if request.node.get_closest_marker("traced") is None:
        monkeypatch.setattr(Model, "traced", lambda self, name, run, inputs: run)


@contextmanager
def untraced():
    """No `tf.function` is traced, so that steps of a training run as they are written; maps of data still are."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)


@pytest.fixture
def eagerly():
    """A test whose trainings are so short that tracing them takes longer."""
    with untraced():
        yield
