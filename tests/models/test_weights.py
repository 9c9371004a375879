"""Weights in half precision and in eight bits: their accuracy, what stays exact, and what is rejected."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.systems import seq2seq

from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import EncoderDecoder, load
from seqattn_tf.models.weights import pack, unpack

LETTERS = SymbolRules(tuple("abcdefgh"), lowercase=True, strip_accents=True)
SOUNDS = SymbolRules(("AH", "B", "K", "D"), tokenizer="spaces")
WORDS = ["badge", "h", "deadbeef", "fade", "cab", "gag"]


@pytest.fixture(scope="module")
def model():
    """A model with weights as large as trained ones, whose answers are unambiguous."""
    keras.utils.set_random_seed(2)
    network = EncoderDecoder.of_symbols(LETTERS.size, SOUNDS.size, units=48, embedding=32, cell="lstm", dropout=0.2)
    network.set_weights([value * (3.0 if value.ndim > 1 else 1.0) for value in network.get_weights()])
    return seq2seq(network, LETTERS, SOUNDS, max_target_length=9)


def variable(values, dtype="float32"):
    return keras.Variable(np.asarray(values), dtype=dtype)


def restored(weight, form="int8"):
    return unpack([weight], pack([weight], form))[0]


@pytest.mark.parametrize(
    ("shape", "scales"),
    [((40, 6), (1, 6)), ((3, 3, 4, 6), (1, 1, 1, 6)), ((3, 3, 6, 1), (1, 1, 6, 1)), ((1, 5, 6), (1, 1, 6))],
)
def test_each_weight_is_within_half_a_step_of_its_channel(shape, scales):
    sizes = np.reshape([1e-6, 1e-3, 1.0, 30.0, 1e4, 1e5], scales)
    values = (np.random.default_rng(0).normal(size=shape) * sizes).astype("float32")
    stored = pack([variable(values)], "int8")
    assert {name: array.dtype for name, array in stored.items()} == {"0000": np.int8, "0000_scale": np.float32}
    others = tuple(axis for axis, size in enumerate(scales) if size == 1)
    step = np.abs(values).max(others, keepdims=True) / 127
    assert stored["0000_scale"].shape == scales
    np.testing.assert_allclose(stored["0000_scale"], step, rtol=1e-6)
    assert (np.abs(stored["0000"]).max(others) == 127).all()
    [again] = unpack([variable(values)], stored)
    assert again.dtype == np.float32
    assert (np.abs(again - values) <= step * 0.5001).all()


def test_halves_go_to_the_even_neighbour():
    values = np.float32([[127, 127], [0.5, -0.5], [1.5, -1.5], [2.5, -2.5]])
    assert pack([variable(values)], "int8")["0000"].tolist() == [[127, 127], [0, 0], [2, -2], [2, -2]]


def test_zeros_and_the_smallest_numbers():
    least = np.float32(1.4e-45)
    values = np.stack([np.zeros(3), least * np.float32([1, -140, 140]), [1, -1, 0.5]], axis=1).astype("float32")
    stored = pack([variable(values)], "int8")
    assert stored["0000_scale"][0, 0] == 1
    assert stored["0000"].tolist() == [[0, 1, 127], [0, -127, -127], [0, 127, 64]]
    assert (restored(variable(values))[:, 0] == 0).all()


@pytest.mark.parametrize("shape", [(), (1,), (7,), (7, 1), (1, 1), (0, 4)])
def test_vectors_stay_in_half_precision(shape):
    values = np.random.default_rng(1).normal(size=shape).astype("float32")
    stored = pack([variable(values)], "int8")
    assert {name: array.dtype for name, array in stored.items()} == {"0000": np.float16}
    np.testing.assert_allclose(restored(variable(values)), values, rtol=1e-3)


@pytest.mark.parametrize("form", ["int8", "float16"])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int8", "bool"])
def test_what_is_no_fraction_stays_exact(form, dtype):
    values = np.array([[0, 1, 101], [120, 3, 77]]).astype(dtype)
    if dtype.endswith("32"):
        values[0, 0] = 2_000_000_011
    again = restored(variable(values, dtype), form)
    assert again.dtype == dtype
    np.testing.assert_array_equal(again, values)


def test_half_precision_is_what_it_was():
    values = np.random.default_rng(1).normal(size=(9, 4)).astype("float32")
    stored = pack([variable(values), variable(values[0])], "float16")
    assert list(stored) == ["0000", "0001"]
    assert stored["0000"].dtype == np.float16
    np.testing.assert_array_equal(stored["0000"], values.astype("float16"))
    older = {"0000": np.float16([3])}  # an older format with integers stored as floats
    [again] = unpack([variable([0], "int32")], older)
    assert (again.dtype, again.tolist()) == ("int32", [3])


def test_brain_floats_are_stored_as_others_are():
    values = tf.constant([[1.0, -3.0], [0.5, 2.0]], tf.bfloat16)
    weight = keras.Variable(values, dtype="bfloat16")
    np.testing.assert_allclose(restored(weight), [[1, -3], [0.5, 2]], atol=0.012)
    np.testing.assert_array_equal(restored(weight, "float16"), [[1, -3], [0.5, 2]])
    assert {pack([weight], form)["0000"].dtype.name for form in ("float16", "int8")} == {"float16", "int8"}


@pytest.mark.parametrize("form", ["int8", "float16"])
@pytest.mark.parametrize(
    ("values", "received"), [([[1, np.nan], [0, 0]], "nan"), ([[1, 0], [-np.inf, 0]], "-inf"), ([1, 1e6], "inf")]
)
def test_what_is_not_finite_is_refused(form, values, received):
    with pytest.raises(ValueError, match=rf"weights: expected finite numbers\. Received: {received} as float\d\d in "):
        pack([variable(values)], form)


def test_a_model_that_cannot_be_stored_leaves_nothing_behind(model, tmp_path):
    with pytest.raises(
        ValueError, match=r"compact: expected False, True or one of \['float16', 'int8'\]\. Received: 'int4'"
    ):
        model.save(tmp_path / "run", compact="int4")
    assert not (tmp_path / "run").exists()


def test_eight_bits_answer_nearly_the_same_from_a_much_smaller_file(model, tmp_path):
    for form in ("float16", "int8"):
        model.save(tmp_path / form, {"recipe": "none"}, compact=form)
    model.save(tmp_path / "true", compact=True)
    files = {name: tmp_path / name / "weights.npz" for name in ("float16", "int8", "true")}
    with np.load(files["float16"]) as one, np.load(files["true"]) as other:
        assert all((one[name] == other[name]).all() for name in one.files)
    assert files["int8"].stat().st_size < 0.62 * files["float16"].stat().st_size
    again = load(tmp_path / "int8")
    for one, other in zip(model.answer(WORDS), again.answer(WORDS), strict=True):
        assert one.text == other.text
        assert one.score == pytest.approx(other.score, abs=0.05)
        np.testing.assert_allclose(one.attention["text"].weights, other.attention["text"].weights, atol=0.02)


@pytest.mark.parametrize("forms", [(False, "int8"), ("int8", False), ("float16", "int8", False)])
def test_a_save_in_another_form_leaves_no_stale_weights(model, tmp_path, forms):
    """`save(compact=...)` must remove the `model.keras` of an earlier save."""
    for form in forms:
        model.save(tmp_path, compact=form)
    weights = sorted(path.name for path in tmp_path.iterdir() if path.suffix in (".keras", ".npz"))
    assert weights == (["weights.npz"] if forms[-1] else ["model.keras"])
    assert load(tmp_path).answer(["ab"])[0].text


def test_seeds_are_no_weights_and_come_from_the_configuration(tmp_path):
    network = EncoderDecoder.of_symbols(LETTERS.size, SOUNDS.size, units=4, embedding=3, dropout=0.2)
    seeds = {variable.path for variable in network.variables if "seed" in variable.path}
    assert seeds
    assert not seeds & {weight.path for weight in network.weights}
    seq2seq(network, LETTERS, SOUNDS).save(tmp_path, compact="int8")
    again = load(tmp_path).network
    states = [variable for variable in again.variables if "seed" in variable.path]
    assert len(states) == len(seeds)
    assert {state.dtype for state in states} == {v.dtype for v in network.variables if v.path in seeds}


@pytest.mark.parametrize(
    ("damage", "received"),
    [
        (lambda arrays: arrays.pop("0000_scale"), "0000_scale"),
        (lambda arrays: arrays.pop("0001"), "0001"),
        (lambda arrays: arrays.update({"0000_scale": arrays["0000_scale"][:, :1]}), "a scale for each channel of"),
        (lambda arrays: arrays.update({"9999": arrays["0001"]}), r"unknown weights \['9999'\]"),
        (lambda arrays: arrays.update({"0000": arrays["0000"][:, :2], "0000_scale": arrays["0000_scale"][:, :2]}), ""),
    ],
)
def test_damaged_files_are_refused(model, tmp_path, damage, received):
    model.save(tmp_path, compact="int8")
    with np.load(tmp_path / "weights.npz") as stored:
        arrays = dict(stored)
    damage(arrays)
    np.savez(tmp_path / "weights.npz", **arrays)
    with pytest.raises(ValueError, match=f"expected a complete network.*{received}"):
        load(tmp_path)
