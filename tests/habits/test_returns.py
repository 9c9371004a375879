"""Outputs, shapes and the tools of Keras: `Sequential`, `summary`, `clone_model`, `plot_model`, `export`."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.layers import ALL, random
from support.slow import slow

from seqattn_tf import (
    CRF,
    Attention,
    AttentionDecoder,
    Bidirectional,
    HierarchicalEncoder,
    PointerDecoder,
    Recurrent,
    Stack,
    TreeRecurrent,
)
from seqattn_tf.attention import AttentionPooling, MemoryHops
from seqattn_tf.cells import GRUCell

INPUTS = random(3, 5, 4)
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]], bool)
FLAGS = list(itertools.product([False, True], [False, True]))
KINDS = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU, "rnn": keras.layers.SimpleRNN}


def alike(found, expected, tolerance=1e-6):
    found, expected = (one if isinstance(one, (list, tuple)) else [one] for one in (found, expected))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=tolerance)


@pytest.mark.parametrize(
    ("kind", "mask", "sequences", "state"),
    [
        (kind, mask, *flags)
        if kind == "lstm" or (mask is not None and flags[0] == flags[1])
        else slow(kind, mask, *flags)
        for kind, mask, flags in itertools.product(KINDS, [None, tf.constant(MASK)], FLAGS)
    ],
)
def test_a_network_returns_what_keras_returns(kind, mask, sequences, state):
    flags = {"return_sequences": sequences, "return_state": state}
    ours, theirs = Recurrent(kind, units=3, **flags), KINDS[kind](3, zero_output_for_mask=sequences, **flags)
    theirs.build(INPUTS.shape)
    ours.build(INPUTS.shape)
    ours.set_weights(theirs.get_weights()[:3])
    first = [tf.constant(random(3, 3, seed=i)) for i in range(len(ours.state_size))]
    for given in (None, first):
        alike(ours(INPUTS, initial_state=given, mask=mask), theirs(INPUTS, initial_state=given, mask=mask))
    assert ours.compute_output_shape((None, 5, 4)) == theirs.compute_output_shape((None, 5, 4))


@pytest.mark.parametrize(("sequences", "state"), FLAGS)
@pytest.mark.parametrize("mask", [None, tf.constant(MASK)])
def test_both_directions_return_what_keras_returns(mask, sequences, state):
    flags = {"return_sequences": sequences, "return_state": state}
    ours = Bidirectional("lstm", units=3, **flags)
    theirs = keras.layers.Bidirectional(keras.layers.LSTM(3, zero_output_for_mask=sequences, **flags))
    theirs.build(INPUTS.shape)
    ours.build(INPUTS.shape)
    ours.set_weights([w for w in theirs.get_weights() if w.ndim])
    first = [tf.constant(random(3, 3, seed=i)) for i in range(4)]
    for given in (None, first):
        alike(ours(INPUTS, initial_state=given, mask=mask), theirs(INPUTS, initial_state=given, mask=mask))
    expected = theirs.compute_output_shape((None, 5, 4))
    assert ours.compute_output_shape((None, 5, 4)) == expected


def test_a_row_with_nothing_to_keep_ends_as_keras_ends_it():
    first, mask = [tf.constant(random(3, 3))], tf.constant(MASK & [[True], [False], [True]])
    ours, theirs = Recurrent("gru", units=3, return_state=True), keras.layers.GRU(3, return_state=True)
    theirs.build(INPUTS.shape)
    ours.build(INPUTS.shape)
    ours.set_weights(theirs.get_weights()[:3])
    alike(ours(INPUTS, initial_state=first, mask=mask), theirs(INPUTS, initial_state=first, mask=mask))


@pytest.mark.parametrize("mask", [None, tf.constant(MASK)])
@pytest.mark.parametrize("options", [{}, {"residual": True}, {"skip": True}])
def test_the_last_of_a_stack_is_the_last_of_its_sequence(options, mask):
    layer = Stack("gru", units=4, depth=2, **ALL, **options)
    outputs, *states = layer(INPUTS, mask=mask)
    layer.return_sequences = layer.return_state = False
    lengths = MASK.sum(1) if mask is not None else [5, 5, 5]
    alike(layer(INPUTS, mask=mask), np.stack([outputs[row, length - 1] for row, length in enumerate(lengths)]))
    assert len(states) == 2
    both = Stack("gru", units=4, depth=2, bidirectional=True, return_sequences=True, **options)
    outputs = both(INPUTS, mask=mask)
    both.return_sequences = False
    last = both(INPUTS, mask=mask)
    for start in range(0, outputs.shape[-1], 8):  # for each layer: the last step forward, and the first step backward
        ends = [outputs[row, length - 1, start : start + 4] for row, length in enumerate(lengths)]
        alike(last[:, start : start + 8], np.concatenate([ends, outputs[:, 0, start + 4 : start + 8]], axis=1))


def test_the_last_of_a_stack_of_merged_directions():
    layer = Stack([Bidirectional("gru", units=3, merge_mode="sum"), Recurrent("gru", units=3, reverse=True)], skip=True)
    first, second = layer.layers
    below = first.read(INPUTS)
    above = second.read(tf.concat([below.outputs, INPUTS], -1))
    alike(layer(INPUTS), tf.concat([below.last, above.outputs[:, 0]], -1))


def test_roots_and_documents():
    trees = TreeRecurrent("child_sum", units=3, **ALL)
    nodes, hidden, memory = trees(INPUTS, mask=tf.constant(MASK))
    assert nodes.shape == (3, 9, 3)
    trees.return_sequences = trees.return_state = False
    alike(trees(INPUTS, mask=tf.constant(MASK)), hidden)
    assert memory.shape == (3, 3)
    documents = random(2, 3, 5, 4)
    encoder = HierarchicalEncoder(Bidirectional("gru", units=3), Recurrent("lstm", units=2), **ALL)
    sentences, last, _ = encoder(documents)
    encoder.return_sequences = encoder.return_state = False
    alike(encoder(documents), last)
    alike(sentences[:, -1], last)


def shapes_of(found):
    return keras.tree.map_structure(lambda one: tuple(one.shape), found)


MAKERS = {
    **{
        f"{name} {sequences} {state}": (
            lambda make=make, sequences=sequences, state=state: make(return_sequences=sequences, return_state=state),
            shapes,
        )
        for name, make, shapes in [
            ("recurrent", lambda **flags: Recurrent("lstm", units=3, **flags), [(None, None, 4)]),
            ("bidirectional", lambda **flags: Bidirectional("lstm", units=3, merge_mode="ave", **flags), [(2, 5, 4)]),
            ("stack", lambda **flags: Stack("lstm", units=3, depth=2, skip=True, **flags), [(None, 5, 4)]),
            ("tree", lambda **flags: TreeRecurrent("binary", units=3, **flags), [(None, 5, 4)]),
            (
                "hierarchy",
                lambda **flags: HierarchicalEncoder(Recurrent("gru", units=2), Bidirectional("gru", units=3), **flags),
                [(None, 3, 5, 4)],
            ),
        ]
        for sequences, state in (FLAGS if name == "recurrent" else FLAGS[1:3])
    },
    "attention": (lambda: Attention(units=3), [(None, 4), (None, 5, 6)]),
    "attention, several": (lambda: Attention(units=3), [(None, 7, 4), (None, None, 6)]),
    "pooling": (lambda: AttentionPooling(3), [(None, 5, 4)]),
    "hops": (lambda: MemoryHops(2), [(None, 4), (None, 5, 6)]),
    "crf": (lambda: CRF(3), [(None, 5, 4)]),
}


@pytest.mark.parametrize("name", MAKERS)
def test_shapes_that_are_told_are_those_that_come(name):
    make, shapes = MAKERS[name]
    layer = make()
    told = layer.compute_output_shape(*shapes)  # of a layer that is not built
    found = layer(*(keras.KerasTensor(shape) for shape in shapes))
    assert shapes_of(found) == told
    assert layer.compute_output_shape(*shapes) == told


def test_shapes_of_decoders_and_given_trees():
    tokens, values, summary = (None, 7), (None, 5, 6), (None, 4)
    for layer, wide in (
        (AttentionDecoder(GRUCell(3), Attention(units=3), vocabulary=9), 9),
        (PointerDecoder(GRUCell(3), Attention(units=3)), 5),
    ):
        assert layer.compute_output_shape(tokens, values, summary_shape=summary) == ((None, 7, wide), (None, 7, 5))
        given = keras.KerasTensor(tokens, "int32"), keras.KerasTensor(values), keras.KerasTensor(summary)
        assert shapes_of(layer(*given)) == ((None, 7, wide), (None, 7, 5))
    several = AttentionDecoder(GRUCell(3), [Attention(units=3), Attention("general")], vocabulary=9)
    assert several.compute_output_shape(tokens, values) == ((None, 7, 9), (None, 7, 10))
    layer = TreeRecurrent("binary", units=3, return_sequences=True)
    assert layer.compute_output_shape((None, 5, 4), children_shape=(None, 5, 2)) == (None, 5, 3)
    assert layer(keras.KerasTensor((None, 5, 4)), children=keras.KerasTensor((None, 5, 2), "int32")).shape == (
        None,
        5,
        3,
    )


def models():
    """Return one model of each kind: a sequential one, and one that passes states between layers."""
    sequential = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(9, 4, mask_zero=True),
            Stack("gru", units=4, depth=2, residual=True, return_sequences=True),
            keras.layers.Dense(4),
            Bidirectional("lstm", units=3),
            keras.layers.Dense(2),
        ]
    )
    words, tokens = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(9, 4, mask_zero=True)(words)
    values, hidden, memory = Recurrent("lstm", units=3, **ALL)(x)
    more, *_ = Recurrent("lstm", units=3, **ALL)(x, initial_state=[hidden, memory])
    decoder = AttentionDecoder(GRUCell(3), Attention(units=3), vocabulary=9, mask_zero=True)
    logits, _ = decoder(tokens, keras.layers.Concatenate()([values, more]), initial_state=hidden)
    return {"sequential": sequential, "functional": keras.Model([words, tokens], logits)}


WORDS = np.array([[4, 7, 2, 0, 0], [5, 1, 3, 6, 2]])
DATA = {"sequential": WORDS, "functional": [WORDS, np.array([[1, 3, 4], [1, 2, 0]])]}


@pytest.fixture(scope="module", params=["sequential", "functional"])
def model(request):
    keras.utils.set_random_seed(0)
    return models()[request.param], DATA[request.param]


def test_summary_and_clone(model):
    model, data = model
    lines = []
    model.summary(print_fn=lines.append)
    assert "?" not in lines[0]  # every shape is known
    again = keras.models.clone_model(model)
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(again(data), model(data))


def test_picture_of_a_model(model, tmp_path):
    pydot = pytest.importorskip("pydot")
    dot = keras.utils.model_to_dot(model[0], show_shapes=True, show_dtype=True, show_layer_names=True)
    assert isinstance(dot, pydot.Dot)
    text = dot.to_string()
    assert "None, 3" in text or "None, 6" in text
    assert "?" not in text


def test_saved(model, tmp_path):
    model, data = model
    model.save(tmp_path / "m.keras")
    np.testing.assert_allclose(keras.models.load_model(tmp_path / "m.keras")(data), model(data), atol=1e-6)


@pytest.mark.parametrize("model", [slow("sequential"), "functional"], indirect=True, scope="module")
def test_exported(model, tmp_path):
    model, data = model
    expected = model(data).numpy()
    arguments = [tf.constant(one, tf.int32) for one in (data if isinstance(data, list) else [data])]
    model.export(tmp_path / "exported", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "exported")
    served = loaded.serve(arguments if len(arguments) > 1 else arguments[0])
    np.testing.assert_allclose(served, expected, atol=1e-6)


def test_times_two_is_no_sparse_tensor():
    """`embedding * sqrt(d)`: Keras marks such products as possibly sparse."""
    i = keras.Input((5, 4))
    doubled = i * 2.0
    results = [
        Recurrent("lstm", units=4)(doubled),
        Bidirectional("gru", units=4)(doubled),
        Stack("gru", units=4, depth=2)(doubled),
        TreeRecurrent("binary", units=4)(doubled),
        CRF(3)(doubled)["scores"],
        Attention("dot")(doubled[:, 0], doubled)[0],
        AttentionPooling(3)(doubled)[0],
        MemoryHops(2)(doubled[:, 0], doubled)[0],
    ]
    model = keras.Model(i, results)
    for one, other in zip(model(INPUTS), keras.Model(i, results)(INPUTS), strict=True):
        assert np.isfinite(one).all()
        np.testing.assert_array_equal(one, other)
    layer = model.layers[[layer.name.startswith("recurrent") for layer in model.layers].index(True)]
    np.testing.assert_allclose(model(INPUTS)[0], layer(2 * INPUTS), atol=1e-6)


def test_inside_time_distributed():
    layer = keras.layers.TimeDistributed(Recurrent("gru", units=3))
    inputs = random(2, 3, 5, 4)
    found = layer(inputs)
    assert found.shape == (2, 3, 3)
    np.testing.assert_allclose(found[1], layer.layer(inputs[1]), atol=1e-6)


def test_names_that_are_no_arguments_are_refused_by_name():
    for name in ("go_backwards", "unroll", "time_major", "use_bias"):
        with pytest.raises((TypeError, ValueError), match=name):
            Recurrent("lstm", units=3, **{name: True})


def test_parts_with_a_regularizer_of_their_own_are_refused():
    part = Recurrent("gru", units=3, activity_regularizer="l2")
    with pytest.raises(ValueError, match="layers: expected networks without activity_regularizer"):
        Stack([part])
    whole = Stack("gru", units=3, depth=1, activity_regularizer=keras.regularizers.L2(0.5))
    found = whole(INPUTS)
    np.testing.assert_allclose(whole.losses[0], 0.5 * (found.numpy() ** 2).sum() / 3, rtol=1e-5)
