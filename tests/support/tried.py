"""A test of a recipe without training: one gradient, one answer, one picture and the metrics of a few examples."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

QUICK = {"beam_width": 1, "alternatives": 0}  # searching is tested with the decoders


def quick(settings):
    """Return the same settings with greedy answers."""
    return dataclasses.replace(settings, **{name: QUICK[name] for name in QUICK if hasattr(settings, name)})


def tried(recipe, settings, splits, value):
    """Return the untrained model, its answer to a value, and the metrics of the test split.

    The gradient of the first batch, computed as in training, must be finite and reach the weights.
    """
    training = recipe.task.open(settings, splits)
    network = training.model.network
    inputs, right = next(iter(training.batches(0)))
    with tf.GradientTape() as tape:
        loss = training.loss(right, network(inputs, training=True)) + sum(network.losses)
    gradients = tape.gradient(loss, network.trainable_variables)
    assert np.isfinite(float(loss))
    moved = [grad is not None and bool(tf.reduce_any(tf.convert_to_tensor(grad) != 0)) for grad in gradients]
    assert np.mean(moved) > 0.8, [v.path for v, m in zip(network.trainable_variables, moved, strict=True) if not m]
    [answer] = training.model.answer([value])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training.model, "answer", lambda rows: [answer])  # do not compute it again
        shown = training.model.explain(value)
    assert shown.axes or not any(look.weights.size for look in answer.attention.values())
    report = recipe.task.measure(training.model, training.splits.test, training.splits.notes)
    assert recipe.task.monitor in report.metrics
    assert all(np.isfinite(figure) for figure in report.metrics.values()), report.metrics
    return training.model, answer, report
