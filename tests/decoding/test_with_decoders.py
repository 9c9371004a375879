"""Decoding with real decoders: the results agree with the decoder itself, and the graphs can be exported."""

import collections

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from support.decoders import BATCH, MASK, SOURCE, SUMMARY, VALUES, WIDTH
from support.layers import random

from seqattn_tf.attention import Attention
from seqattn_tf.cells import GRUCell, LSTMCell
from seqattn_tf.decoders import AttentionDecoder, LuongDecoder, PointerDecoder
from seqattn_tf.decoding import beam, greedy, in_parts, sample

VOCABULARY, LENGTH = 7, 5
Memory = collections.namedtuple("Memory", "mask")
LIMITS = {"begin": 1, "end": 2, "max_length": LENGTH}
SIZES = {"embedding": 3, "readout": 4}
MAKERS = {
    "bahdanau": lambda: AttentionDecoder(GRUCell(4), Attention(units=5), VOCABULARY, **SIZES),
    "gated": lambda: AttentionDecoder(LSTMCell(4), Attention("general", gate=True), VOCABULARY, **SIZES),
    "coverage": lambda: AttentionDecoder(LSTMCell(4), Attention("coverage", "sparsemax", units=5), VOCABULARY, **SIZES),
    "luong": lambda: LuongDecoder(GRUCell(4), Attention("general"), VOCABULARY, **SIZES),
    "luong, no feeding": lambda: LuongDecoder(
        GRUCell(4), Attention("general"), VOCABULARY, **SIZES, input_feeding=False
    ),
}


@pytest.fixture(scope="module", params=list(MAKERS))
def decoder(request):
    return built(MAKERS[request.param]())


def built(decoder):
    decoder.build((None, None), (None, None, WIDTH), (None, WIDTH))
    rng = np.random.default_rng(3)
    for variable in decoder.trainable_variables:
        variable.assign(rng.normal(size=variable.shape))
    return decoder


def run(decoder, way, step=None, values=VALUES, mask=MASK, summary=SUMMARY, **arguments):
    memory, state = decoder.begin(tf.constant(values), tf.constant(mask), tf.constant(summary))
    return way(step or decoder.step, state, memory, **{**LIMITS, **arguments})


def assert_same(found, expected, **tolerance):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, **(tolerance or {"rtol": 1e-4, "atol": 1e-5}))


def test_scores_and_attention_are_those_of_teacher_forcing(decoder):
    found = run(decoder, beam, width=4, answers=3, length_penalty=0.7)
    for place in range(3):
        tokens = found.tokens[:, place].numpy()
        shifted = np.pad(tokens, [(0, 0), (1, 0)], constant_values=1)
        logits, weights = decoder(
            tf.constant(shifted), tf.constant(VALUES), tf.constant(SUMMARY), mask=tf.constant(MASK)
        )
        table = tf.nn.log_softmax(logits).numpy()
        for row in range(BATCH):
            length = int(found.lengths[row, place])
            said = [*tokens[row, :length], *([2] if length < LENGTH else [])]
            np.testing.assert_allclose(found.scores[row, place], table[row, range(len(said)), said].sum(), rtol=1e-4)
            np.testing.assert_allclose(found.attention[row, place, :length], weights[row, :length], atol=1e-5)
            assert (found.attention[row, place, length:].numpy() == 0).all()
    assert (found.attention[2].numpy() == 0).all()  # this row is fully masked
    assert np.isfinite(found.scores).all()
    assert (np.diff(found.ranks) <= 0).all()


def test_the_stepper_says_the_same(decoder, monkeypatch):
    """With and without a table of symbols, and with and without a memory shared by the beams."""
    searched, best = run(decoder, beam, width=3, answers=2), run(decoder, greedy)
    for small in (0, VOCABULARY):
        monkeypatch.setattr("seqattn_tf.decoders.symbols.SMALL", small)
        assert (decoder.stepper().for_beams(3) is None) == decoder.attention.stateful
        assert_same(run(decoder, greedy, decoder.stepper()), best)
        assert_same(run(decoder, beam, decoder.stepper(), width=3, answers=2), searched)


def test_a_row_alone_gets_the_same_answers(decoder):
    together = run(decoder, beam, width=3, answers=2, coverage_penalty=0.3)
    for row in range(BATCH):
        own = slice(row, row + 1)
        alone = run(
            decoder,
            beam,
            values=VALUES[own],
            mask=MASK[own],
            summary=SUMMARY[own],
            width=3,
            answers=2,
            coverage_penalty=0.3,
        )
        assert_same(alone, [one[own] for one in together])


def test_a_pointer_searches_too():
    decoder = PointerDecoder(GRUCell(4), Attention(units=5))
    decoder = built(decoder)
    found = run(decoder, beam, begin=-1, end=0, width=4, answers=2, no_repeat=1)
    assert (found.tokens[1].numpy() != 1).all()  # a masked position
    assert (found.tokens[1].numpy() != 3).all()
    assert (found.scores[2].numpy() == -np.inf).all()  # all positions are masked
    assert found.tokens.shape == (BATCH, 2, LENGTH)


def test_half_precision_scores_in_single():
    decoder = AttentionDecoder(
        GRUCell(4, dtype="mixed_float16"),
        Attention(units=5, dtype="mixed_float16"),
        VOCABULARY,
        **SIZES,
        dtype="mixed_float16",
    )
    found = run(
        built(decoder), beam, decoder.stepper(), values=VALUES.astype("f2"), summary=SUMMARY.astype("f2"), width=2
    )
    assert found.scores.dtype == found.attention.dtype == tf.float32
    assert np.isfinite(found.scores).all()


@pytest.fixture(scope="module")
def everything():
    """All decoding methods in one graph of unknown sizes, with one decoder."""
    decoder = built(MAKERS["bahdanau"]())

    def both(values, mask, summary):
        memory, state = decoder.begin(values, mask, summary)
        step = decoder.stepper()
        found = {
            "greedy": greedy(step, state, memory, **LIMITS, no_repeat=2),
            "sample": sample(step, state, memory, **LIMITS, seed=[1, 2], top_k=3, top_p=0.9),
            "beam": beam(step, state, memory, **LIMITS, width=3, answers=2, length_penalty=0.6, coverage_penalty=0.1),
        }
        return {f"{way}_{name}": one for way, all_ in found.items() for name, one in all_._asdict().items()}

    specs = [
        tf.TensorSpec([None, None, WIDTH], name="values"),
        tf.TensorSpec([None, None], tf.bool, name="mask"),
        tf.TensorSpec([None, WIDTH], name="summary"),
    ]
    return decoder, both, tf.function(both, input_signature=specs, autograph=False)


@pytest.mark.slow
def test_exported_with_sizes_unknown(everything, tmp_path):
    decoder, both, graph = everything
    module = tf.Module()
    module.variables_used, module.serve = [v.value for v in decoder.variables], graph
    tf.saved_model.save(module, str(tmp_path), signatures={"serving_default": graph.get_concrete_function()})
    served = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
    arrays = [tf.constant(VALUES), tf.constant(MASK), tf.constant(SUMMARY)]
    expected = both(*arrays)
    found = served(values=arrays[0], mask=arrays[1], summary=arrays[2])
    compiled = tf.function(both, jit_compile=True, autograph=False)(*arrays)
    for name, one in expected.items():
        np.testing.assert_allclose(found[name], one, rtol=1e-4, atol=1e-5, err_msg=name)
        np.testing.assert_allclose(compiled[name], one, rtol=1e-4, atol=1e-5, err_msg=name)
    nobody = served(values=arrays[0][:0], mask=arrays[1][:0], summary=arrays[2][:0])
    assert nobody["beam_attention"].shape == (0, 2, LENGTH, SOURCE)
    nothing = served(values=arrays[0][:, :0], mask=arrays[1][:, :0], summary=arrays[2])
    assert nothing["beam_attention"].shape == (BATCH, 2, LENGTH, 0)
    assert np.isfinite(nothing["beam_scores"]).all()


def test_a_search_runs_on_litert_in_built_in_ops(everything, tmp_path):
    decoder, _, _ = everything
    weights = [(variable, tf.constant(variable.numpy())) for variable in decoder.variables]

    def searched(values, summary):
        with keras.StatelessScope(state_mapping=weights):
            memory, state = decoder.begin(values, None, summary)
            arguments = {"width": 3, "answers": 2, "length_penalty": 0.6, "no_repeat": 2}
            return beam(decoder.stepper(), state, memory, **LIMITS, **arguments)._asdict()

    specs = [tf.TensorSpec([1, None, WIDTH], name="values"), tf.TensorSpec([1, WIDTH], name="summary")]
    concrete = tf.function(searched, autograph=False).get_concrete_function(*specs)
    tf.saved_model.save(tf.Module(), str(tmp_path), signatures={"tensors": concrete})
    converter = tf.lite.TFLiteConverter.from_saved_model(str(tmp_path), signature_keys=["tensors"])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    edge = Interpreter(model_content=converter.convert()).get_signature_runner("tensors")
    for count in (SOURCE, 1):
        values, summary = VALUES[:1, :count], SUMMARY[:1]
        found = edge(values=values, summary=summary)
        for name, one in searched(tf.constant(values), tf.constant(summary)).items():
            np.testing.assert_allclose(found[name], one, rtol=1e-4, atol=1e-5, err_msg=name)


def test_in_parts_the_answers_are_the_same():
    """The three rows cannot be divided evenly into two parts; each row has its own table of transitions."""
    table, mask = tf.constant(random(BATCH, VOCABULARY, VOCABULARY)), tf.constant(MASK)

    def best(table, mask):
        def step(tokens, state, memory):
            return tf.gather(table, tokens, batch_dims=1), tf.cast(memory.mask, tf.float32), state

        return greedy(step, (), Memory(mask), **LIMITS)

    assert_same(in_parts(best, 2)(table, mask), best(table, mask))
    with pytest.raises(ValueError, match=r"parts: expected a number of at least 1\. Received: 0"):
        in_parts(best, 0)
