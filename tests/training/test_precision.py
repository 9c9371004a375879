"""Training in mixed precision: saved models compute in float32."""

import dataclasses

import keras
import numpy as np
import pytest
from support.sees import RECIPE, WHOLE

from seqattn_tf.models import load
from seqattn_tf.training import run
from seqattn_tf.training.checkpoints import Checkpoints
from seqattn_tf.training.precision import _plain
from seqattn_tf.training.tasks import Settings

pytestmark = pytest.mark.usefixtures("as_traced")


@pytest.mark.parametrize("precision", ["mixed_bfloat16", "mixed_float16"])
def test_steps_in_half_precision_and_a_model_in_float32(precision, tmp_path):
    settings = dataclasses.replace(WHOLE, precision=precision, ema_decay=0.5, epochs=3, dropout=0.0, learning_rate=6e-2)
    run.train(RECIPE, settings, tmp_path)
    history = Checkpoints(tmp_path / "checkpoints").newest().about["progress"]["history"]
    assert all(np.isfinite(logs["gradient"]) for logs in history)
    assert history[-1]["loss"] < 0.95 * history[0]["loss"]
    model = load(tmp_path)
    assert {layer.compute_dtype for layer in model.network._flatten_layers()} == {"float32"}
    assert {weight.dtype for weight in model.network.weights} == {"float32"}
    assert keras.config.dtype_policy().name == "float32"
    figures = RECIPE.task.measure(model, RECIPE.load().dev).metrics
    best = max(logs["dev_accuracy"] for logs in history)
    assert figures["accuracy"] == pytest.approx(best, abs=0.13)  # one of eight


def test_other_precisions_are_refused():
    with pytest.raises(ValueError, match=r"precision: expected one of .*mixed_bfloat16.*\. Received: 'half'"):
        Settings(precision="half")


@pytest.mark.parametrize("precision", ["mixed_bfloat16", "mixed_float16"])
def test_every_form_of_a_mixed_policy_becomes_float32(precision):
    """This includes policies that are stored only by name, as in some layers."""
    policy = {"class_name": "DTypePolicy", "config": {"name": precision}}
    found = _plain({"dtype": policy, "layers": [{"dtype": precision}], "activation": "tanh", "pair": (precision, 3)})
    assert found == {
        "dtype": {"class_name": "DTypePolicy", "config": {"name": "float32"}},
        "layers": [{"dtype": "float32"}],
        "activation": "tanh",
        "pair": ["float32", 3],
    }
