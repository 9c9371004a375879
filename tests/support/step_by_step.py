"""Answers step by step instead of through a graph, which takes seconds to trace for every model.

That graphs answer as models do is what the tests of exports and of the contract of models ask.
"""

import pytest


@pytest.fixture(autouse=True)
def step_by_step(request, monkeypatch):
    """Every model computes its answers eagerly, unless the test is marked `traced`."""
    from seqattn_tf.models.base import Model

    if request.node.get_closest_marker("traced") is None:
        monkeypatch.setattr(Model, "traced", lambda self, name, run, inputs: run)
