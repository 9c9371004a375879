import pytest
import tensorflow as tf
from support import systems

from seqattn_tf.export.forms import SavedModel
from seqattn_tf.lite.text import SymbolRules

LETTERS = SymbolRules(tuple("abc"))


def test_a_model_that_calls_python_is_not_written(tmp_path, monkeypatch):
    network = systems.text_network(LETTERS.size, outputs=2, units=4, embedding=4)
    model = systems.text_classifier(network, LETTERS, ("yes", "no"))
    told = SavedModel().write(model, tmp_path / "plain", {})
    assert "MatMul" in told["ops"]
    assert told["signatures"]["serving_default"]["inputs"] == {"text": {"dtype": "string", "shape": [None]}}
    other = model.with_settings()

    def through_python(tensors):
        found = model.infer(tensors)
        scores = tf.numpy_function(lambda scores: scores, [found["scores"]], tf.float32)
        return {**found, "scores": tf.ensure_shape(scores, found["scores"].shape)}

    monkeypatch.setattr(other, "infer", through_python)
    with pytest.raises(ValueError, match=r"expected ops that TensorFlow Serving links\. Received: \['PyFunc'\]"):
        SavedModel().write(other, tmp_path / "python", {})
