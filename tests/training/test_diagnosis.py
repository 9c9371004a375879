"""The cause of a loss that is NaN or infinite."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from support.reverse import RECIPE, SHORT, language

from seqattn_tf.training import run
from seqattn_tf.training.diagnosis import diagnose


@pytest.fixture(scope="module")
def training():
    splits = dataclasses.replace(language(), train=language().train[:64]).at_most(0)
    made = RECIPE.task.open(dataclasses.replace(SHORT, dropout=0.0), splits)
    run.compile_network(made)
    return made


def test_the_input_the_weight_the_layer_or_the_gradient_is_named(training, monkeypatch):
    network = training.model.network
    assert diagnose(training, 0, 0) == "it depends on the random numbers of that batch (dropout or sampling)"
    weight = network.trainable_variables[2]
    before = weight.numpy()
    weight.assign(np.full_like(before, np.nan))
    assert diagnose(training, 0, 0) == f"the weight {weight.path} contains NaN or infinity"
    weight.assign(before)
    encoder = type(network.encoder)
    read = encoder.call

    def broken(self, *given, **more):
        found = read(self, *given, **more)
        return found._replace(summary=tf.math.log(found.summary - 9.0))

    with monkeypatch.context() as patch:
        patch.setattr(encoder, "call", broken)
        said = diagnose(training, 0, 0)
    assert said == f"the layer {network.encoder.path} outputs NaN or infinity for that batch"
    seen = training.batches

    def holed(epoch, step):
        return seen(epoch, step).map(lambda inputs, right: ({**inputs, "sound": tf.constant([[1.0, np.nan]])}, right))

    monkeypatch.setattr(training, "batches", holed)
    assert diagnose(training, 0, 1) == "the input sound of that batch contains NaN or infinity"
