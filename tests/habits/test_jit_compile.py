"""`compile(jit_compile=True)` is respected without a warning; by default, Keras compiles nothing on a CPU."""

import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.slow import slow

from seqattn_tf import (
    CRF,
    Attention,
    AttentionDecoder,
    AttentionPooling,
    Bidirectional,
    CRFModel,
    LuongDecoder,
    MemoryHops,
    Recurrent,
    Stack,
)
from seqattn_tf.cells import GRUCell

IDS = np.random.default_rng(0).integers(1, 9, [8, 6]) * (np.arange(6) < 4 + np.arange(8)[:, None] % 3)


def pooled(layer):
    """Return a function that builds a model with a layer that maps a sequence to one vector."""

    def model():
        ids = keras.Input([6], dtype="int32")
        found = layer()(keras.layers.Embedding(9, 8, mask_zero=True)(ids))
        return keras.Model(ids, keras.layers.Dense(3)(found[0] if isinstance(found, (list, tuple)) else found))

    return model


def asked(layer):
    """Return a function that builds a model with a layer that attends to a sequence with a query."""

    def model():
        ids = keras.Input([6], dtype="int32")
        values = keras.layers.Embedding(9, 8, mask_zero=True)(ids)
        query = keras.layers.GlobalAveragePooling1D()(values)
        return keras.Model(ids, keras.layers.Dense(3)(layer()(query, values)[0]))

    return model


def decoded(kind):
    def model():
        ids = keras.Input([6], dtype="int32")
        values = Bidirectional("gru", units=4, return_sequences=True)(keras.layers.Embedding(9, 8, mask_zero=True)(ids))
        logits, _ = kind(GRUCell(4), Attention(units=4), vocabulary=9, embedding=4)(ids, values)
        return keras.Model(ids, keras.layers.Dense(3)(keras.layers.GlobalAveragePooling1D()(logits)))

    return model


def tagged():
    ids = keras.Input([6], dtype="int32")
    return CRFModel(ids, CRF(3)(keras.layers.Embedding(9, 8, mask_zero=True)(ids)))


MODELS = {
    "recurrent": pooled(lambda: Recurrent("gru", units=4)),
    "bidirectional": pooled(lambda: Bidirectional("lstm", units=4)),
    "stack": pooled(lambda: Stack("gru", 4, 2)),
    "pooling": pooled(lambda: AttentionPooling(4)),
    "attention": asked(lambda: Attention("additive", "softmax", units=4)),
    "attention, crf": asked(lambda: Attention("additive", "crf", units=4)),
    "attention, segments": asked(lambda: Attention("additive", "segments", units=4)),
    "hops": asked(lambda: MemoryHops(2)),
    "bahdanau": decoded(AttentionDecoder),
    "luong": decoded(LuongDecoder),
    "tagger": tagged,
}


@pytest.mark.parametrize("name", [name if name == "attention" else slow(name) for name in MODELS])
def test_a_model_is_compiled_where_it_is_asked_for(name):
    model = MODELS[name]()
    loss = None if name == "tagger" else keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.compile("sgd", loss, jit_compile=True)
    assert model.jit_compile
    history = model.fit(IDS, IDS % 3 if name == "tagger" else IDS[:, 0] % 3, batch_size=4, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


@pytest.mark.parametrize("name", MODELS)
def test_every_layer_lets_its_model_be_compiled(name):
    model = MODELS[name]()
    assert all(layer.supports_jit for layer in model._flatten_layers())
    model.compile("adam")
    if all(device.device_type == "CPU" for device in tf.config.list_physical_devices()):
        assert not model.jit_compile  # Keras's default
