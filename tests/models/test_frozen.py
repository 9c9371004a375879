"""The shipped models answer as they did when their answers were recorded, name by name and number by number."""

import pytest
from support import frozen

from seqattn_tf.models.presets import presets


@pytest.mark.parametrize("name", presets())
def test_a_shipped_model_answers_as_recorded(name):
    assert not list(frozen.differences(frozen.recorded(name), frozen.ask(name)))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"text": "a", "weights": [0.5, 0.1]}, ["p.weights[1]: expected 0.2. Received: 0.1"]),
        ({"text": "b", "weights": [0.5, 0.2]}, ["p.text: expected 'a'. Received: 'b'"]),
        ({"text": "a"}, ["p: expected the names ['text', 'weights']. Received: ['text']"]),
        ({"text": "a", "weights": [0.5]}, ["p.weights: expected [0.5, 0.2]. Received: [0.5]"]),
        ({"text": "a", "weights": [0.50001, 0.2]}, []),
    ],
)
def test_what_differs_is_named(found, said):
    assert list(frozen.differences({"text": "a", "weights": [0.5, 0.2]}, found, "p")) == said
