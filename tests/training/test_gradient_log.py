import keras
import numpy as np
import pytest
import tensorflow as tf
from support.layers import random
from support.slow import slow

from seqattn_tf.recurrent import Recurrent
from seqattn_tf.training.gradient_log import GradientLog

INPUTS, TARGETS = random(8, 5, 3), random(8, 5, 4, seed=1)


def network(layer=None, **clipping):
    model = keras.Sequential([keras.Input((5, 3)), layer or keras.layers.Dense(4)])
    model.compile(keras.optimizers.SGD(0.0, **clipping), "mse")  # learning rate 0: every step is the same
    return model


def logged(folder):
    found = {}
    for path in folder.glob("events*"):
        for record in tf.data.TFRecordDataset(str(path)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, float(tf.make_ndarray(value.tensor))))
    return found


def norms(model):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(INPUTS) - TARGETS) ** 2)
    return [float(tf.norm(gradient)) for gradient in tape.gradient(loss, model.trainable_variables)]


@pytest.mark.usefixtures("as_traced")
@pytest.mark.parametrize(
    ("clipping", "share"),
    [
        ({"global_clipnorm": 1e-3}, 1),
        ({"clipnorm": 1e3}, 0),
        slow({"global_clipnorm": 1e3}, 0),
        slow({"clipvalue": 1e-9}, 1),
    ],
)
def test_norm_and_clipping_of_the_training_steps(tmp_path, clipping, share):
    model = network(**clipping)
    model.fit(INPUTS, TARGETS, batch_size=8, epochs=4, verbose=0, callbacks=[GradientLog(tmp_path, every=2)])
    found = logged(tmp_path)
    assert [step for step, _ in found["gradient/norm"]] == [2, 4]
    for _, norm in found["gradient/norm"]:
        assert norm == pytest.approx(np.linalg.norm(norms(model)), rel=1e-4)
    assert [value for _, value in found["gradient/clipped"]] == [share, share]


@pytest.mark.usefixtures("eagerly")
def test_where_each_gradient_is_clipped_by_itself_their_share_is_logged(tmp_path):
    plain = network()
    model = network(clipnorm=np.mean(norms(plain)))  # one of the two is larger than that
    model.set_weights(plain.get_weights())
    model.fit(INPUTS, TARGETS, batch_size=8, verbose=0, callbacks=[GradientLog(tmp_path, every=1)])
    assert [value for _, value in logged(tmp_path)["gradient/clipped"]] == [0.5]


@pytest.mark.slow
def test_norm_under_a_loss_scale(tmp_path):
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = network(global_clipnorm=1e-3)
    finally:
        keras.config.set_dtype_policy("float32")
    model.fit(INPUTS, TARGETS, batch_size=8, epochs=2, verbose=0, callbacks=[GradientLog(tmp_path, every=1)])
    found = logged(tmp_path)
    assert found["gradient/norm"][0][1] < 10
    assert found["gradient/clipped"][0][1] == 1


@pytest.mark.usefixtures("eagerly")
def test_saturation_of_the_gates_and_nothing_left_behind(tmp_path):
    model = network(Recurrent("gru", units=4, name="reader", return_sequences=True))
    apply = model.optimizer.apply
    kernel, recurrent, bias = model.layers[0].get_weights()
    bias[:, :4] = 50.0  # the update gate is open
    model.layers[0].set_weights([kernel, recurrent, bias])
    callback = GradientLog(tmp_path, data=INPUTS)
    model.fit(INPUTS, TARGETS, batch_size=8, epochs=2, verbose=0, callbacks=[callback])
    found = logged(tmp_path)
    assert [value for _, value in found["gates/reader/update"]] == [1.0, 1.0]
    gates = model.layers[0].cell.gates(INPUTS[:, 0], [np.zeros([8, 4], "float32")])
    assert 0 <= found["gates/reader/candidate"][0][1] <= 1
    assert found["gates/reader/reset"][0][1] < 1
    assert set(gates) == {tag.rpartition("/")[2] for tag in found if tag.startswith("gates")}
    assert model.optimizer.apply == apply
    model.fit(INPUTS, TARGETS, batch_size=8, epochs=1, verbose=0)


def test_bad_argument_is_refused():
    with pytest.raises(ValueError, match=r"every: expected a positive number of steps\. Received: 0"):
        GradientLog("logs", every=0)
