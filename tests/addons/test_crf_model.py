"""The cases of TensorFlow Addons' `text/tests/crf_wrapper_test.py`: a model that ends in a CRF."""

import keras
import numpy as np
import pytest

from seqattn_tf import CRF, CRFModel

TAGS = 3
LABELS = np.array([[1, 2, 2, 0], [1, 1, 0, 2]])
FEATURES = np.random.default_rng(2).normal(size=[2, 4, TAGS]).astype("float32")


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """A model, and the same model loaded from its file."""
    keras.utils.set_random_seed(1)
    base = keras.Sequential([keras.Input((None, TAGS)), keras.layers.Dense(5, "tanh")])
    model = CRFModel(base.inputs[0], CRF(TAGS)(base.outputs[0]))
    model.compile("adam", jit_compile=False)
    path = tmp_path_factory.mktemp("saved") / "model.keras"
    model.save(path)
    return model, keras.saving.load_model(path)


def assert_weights_equal(one, other):
    for left, right in zip(one.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(left, right)


def test_loaded_it_says_the_same(twins):
    model, again = twins
    assert_weights_equal(model, again)
    np.testing.assert_array_equal(again.predict(FEATURES, verbose=0), model.predict(FEATURES, verbose=0))


def test_loaded_it_learns_the_same(twins):
    model, again = twins
    before = model.get_weights()
    model.run_eagerly = again.run_eagerly = True
    losses = [one.train_on_batch(FEATURES, LABELS, return_dict=True)["loss"] for one in twins]
    assert losses[0] == losses[1]
    assert_weights_equal(model, again)
    assert all((one != other).any() for one, other in zip(before, model.get_weights(), strict=True))
