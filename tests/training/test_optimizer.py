"""The optimizer of a training."""

import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.training.run import averaged, compile_network
from seqattn_tf.training.tasks import Settings


def compiled(**settings):
    network = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
    settings = Settings(epochs=4, learning_rate=0.1, warmup_steps=10, **settings)
    model = types.SimpleNamespace(network=network)
    compile_network(types.SimpleNamespace(settings=settings, steps=10, model=model, loss="mse"))
    return network


def test_gradients_are_clipped_to_the_norm_that_the_settings_say():
    optimizer = compiled(clip_norm=0.5).optimizer
    assert optimizer.global_clipnorm == 0.5
    [clipped] = optimizer._clip_gradients([tf.constant([3.0, 4.0])])
    np.testing.assert_allclose(clipped, [0.3, 0.4], rtol=1e-6)


def test_the_rate_warms_up_and_then_falls_to_nothing_at_the_last_step():
    rate = compiled().optimizer._learning_rate
    assert [float(rate(step)) for step in (0, 5, 10, 25, 40)] == pytest.approx([0.0, 0.05, 0.1, 0.05, 0.0], abs=1e-6)


def test_the_network_is_not_compiled_by_xla():
    assert compiled().jit_compile is False


def test_a_model_may_have_the_running_mean_of_its_weights():
    network = compiled(ema_decay=0.75)
    seen = []
    for _ in range(4):
        network.train_on_batch(np.ones([2, 1]), np.ones([2, 1]))
        seen.append(float(network.layers[0].kernel.numpy()[0, 0]))
    mean = seen[0]
    for weight in seen[1:]:
        mean = 0.75 * mean + 0.25 * weight
    kernel = network.layers[0].kernel
    with averaged(network):
        assert kernel.numpy() == pytest.approx(mean, rel=1e-5)
        assert kernel.numpy() != pytest.approx(seen[-1], rel=1e-3)
    assert kernel.numpy() == pytest.approx(seen[-1])
    with pytest.raises(KeyError), averaged(network):
        raise KeyError
    assert kernel.numpy() == pytest.approx(seen[-1])
    plain = compiled()
    with averaged(plain):
        assert plain.layers[0].kernel.numpy() == 0
    with pytest.raises(ValueError, match="ema_decay: expected a fraction of at least 0 and less than 1"):
        compiled(ema_decay=1.0)
