"""The answers of the shipped models must equal the recorded ones, name by name and number by number."""

import dataclasses

import pytest
from support import frozen

from seqattn_tf.export.comparison import difference
from seqattn_tf.export.forms import Lite, QuantizedLite
from seqattn_tf.presets import open_model, presets

TOLERANCES = {form.weights: form.tolerance for form in (Lite, QuantizedLite)}


@pytest.mark.parametrize("name", presets())
def test_a_shipped_model_answers_as_recorded(name):
    assert not list(frozen.differences(frozen.recorded(name), frozen.ask(name)))


@pytest.mark.parametrize("name", presets())
def test_its_litert_file_gives_the_same_answers(name):
    """A file of other weights, or one whose numbers are further from the Keras model than its form promises."""
    model = open_model(name)
    tolerance = TOLERANCES[model.manifest["lite"]["weights"]]
    for expected, found in zip(frozen.recorded_answers(name), model.answer(frozen.questions(name)), strict=True):
        best, others = dataclasses.replace(found, alternatives=()), dict(found.alternatives)
        assert difference(dataclasses.replace(expected, alternatives=()), best, tolerance) == ""
        assert len(others) == len(expected.alternatives)
        for text, score in expected.alternatives:  # the least probable one may be another that is hardly less probable
            assert others.get(text, min(others.values())) == pytest.approx(score, abs=tolerance, rel=tolerance)


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
