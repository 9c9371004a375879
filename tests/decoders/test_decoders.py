import ast
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.decoders import BATCH, MASK, SOURCE, SUMMARY, TARGET, VALUES, WIDTH, DecoderTests

import seqattn_tf
from seqattn_tf.attention import Attention
from seqattn_tf.cells import GRUCell, LSTMCell, RNNCell
from seqattn_tf.decoders import AttentionDecoder, LuongDecoder, PointerDecoder
from seqattn_tf.decoding import beam, greedy

VOCABULARY = 7
TOKENS = np.random.default_rng(0).integers(1, VOCABULARY, (BATCH, TARGET)).astype("int32")
SIZES = {"embedding": 3, "readout": 4}
ROOT = Path(seqattn_tf.__file__).parent.parent
ARGUMENTS = {"vocabulary": VOCABULARY, **SIZES, "dropout": 0.0, "scheduled_sampling": 0.0, "jit_compile": False}


class TestBahdanau(DecoderTests):
    given = TOKENS
    arguments = {
        **ARGUMENTS,
        "dropout": 0.5,
        "embedding_dropout": 0.25,
        "scheduled_sampling": 0.25,
        "sampling_from": "outputs",
        "mask_zero": True,
    }

    @classmethod
    def make(cls, dtype="float32"):
        attention = Attention(units=5, dtype=dtype)
        return AttentionDecoder(GRUCell(4, dtype=dtype), attention, VOCABULARY, **SIZES, dtype=dtype)

    def test_every_argument_survives(self, decoder):
        rates = {"dropout": 0.5, "embedding_dropout": 0.25, "scheduled_sampling": 0.25, "sampling_from": "outputs"}
        rates["jit_compile"] = False
        decoder = AttentionDecoder(GRUCell(4), Attention(units=5), VOCABULARY, **SIZES, **rates, mask_zero=True)
        super().test_every_argument_survives(decoder)

    @pytest.mark.parametrize(
        ("rates", "states_change"),
        [({"dropout": 0.9, "embedding_dropout": 0.0}, False), ({"embedding_dropout": 0.9}, True)],
    )
    @pytest.mark.parametrize("sampling", [0.0, 1e-9])
    def test_embeddings_have_a_dropout_of_their_own(self, rates, states_change, sampling):
        tokens, values, summary, mask = self.inputs()
        rates = {**rates, "scheduled_sampling": sampling}
        decoder = AttentionDecoder(GRUCell(4), Attention(units=5), VOCABULARY, **SIZES, **rates)
        plain, looks = decoder(tokens, values, summary, mask=mask)
        learning, others = decoder(tokens, values, summary, mask=mask, training=True)
        assert not np.allclose(plain, learning, atol=1e-4)
        assert np.allclose(looks, others, atol=1e-6) != states_change  # the weights depend on the previous states

    def test_functional_model_fits_and_reloads(self, tmp_path):
        super().test_functional_model_fits_and_reloads(tmp_path, run_eagerly=True)  # always run for one of them

    def test_the_state_before_the_step_asks(self, decoder):
        """The first attention weights depend only on the summary, not on the first symbol."""
        tokens, values, summary, mask = self.inputs()
        _, weights = decoder(tokens, values, summary, mask=mask)
        _, others = decoder(tf.ones_like(tokens), values, summary, mask=mask)
        np.testing.assert_allclose(weights[:, 0], others[:, 0], atol=1e-7)
        state = decoder.begin(values, mask, summary)[1]
        _, expected = decoder.attention(state.cell[0], values, mask=mask)
        np.testing.assert_allclose(weights[:, 0], expected, atol=1e-6)


class TestBahdanauThatRemembersAndGates(DecoderTests):
    given = TOKENS
    arguments = {"vocabulary": VOCABULARY, **SIZES}

    @classmethod
    def make(cls, dtype="float32"):
        attention = Attention("coverage", "sparsemax", units=5, gate=True, dtype=dtype)
        return AttentionDecoder(LSTMCell(4, dtype=dtype), attention, VOCABULARY, **SIZES, dtype=dtype)

    def test_compiled_loop_of_one_that_compiles_soon(self):
        """With coverage and a gate; the slow test compiles all decoders."""
        attention = Attention("coverage", units=5, gate=True, dtype="float64")
        decoder = AttentionDecoder(RNNCell(4, dtype="float64"), attention, VOCABULARY, **SIZES, dtype="float64")
        decoder.build((None, None), (None, None, WIDTH), (None, WIDTH))
        self.check_compiled_loop(decoder)


class TestLuong(DecoderTests):
    given = TOKENS
    arguments = {"vocabulary": VOCABULARY, **SIZES, "input_feeding": True}

    @classmethod
    def make(cls, dtype="float32", **extra):
        attention = Attention("general", dtype=dtype)
        return LuongDecoder(GRUCell(4, dtype=dtype), attention, VOCABULARY, **SIZES, dtype=dtype, **extra)

    def test_the_state_after_the_step_asks(self, decoder):
        """The first attention weights depend on the first symbol. Compares every step with the formula."""
        tokens, values, summary, mask = self.inputs()
        memory, state = decoder.begin(values, mask, summary)
        fed = tf.zeros([BATCH, decoder.readout])
        for t in range(TARGET):
            logits, weights, after = decoder.step(tokens[:, t], state, memory)
            projected = decoder.cell.project(decoder.embedding(tokens[:, t]))
            if decoder.input_feeding:
                projected += fed @ decoder.feed_kernel.value
            hidden = decoder.cell.step(projected, state.cell)[0]
            context, looked = decoder.attention(hidden, values, mask=mask)
            kernel = tf.concat([decoder.state_kernel.value, decoder.context_kernel.value], 0)
            fed = tf.tanh(tf.concat([hidden, context], -1) @ kernel + decoder.readout_bias.value)
            np.testing.assert_allclose(weights, looked, atol=1e-6)
            np.testing.assert_allclose(logits, fed @ decoder.output_kernel.value + decoder.output_bias.value, atol=1e-5)
            state = after


class TestLuongWithoutFeeding(TestLuong):
    arguments = {"vocabulary": VOCABULARY, **SIZES, "input_feeding": False}

    @classmethod
    def make(cls, dtype="float32"):
        return super().make(dtype, input_feeding=False)


class TestSeveralAttentions(DecoderTests):
    """One of the attentions has a coverage memory, the other one a gate."""

    given = TOKENS
    arguments = {"vocabulary": VOCABULARY, **SIZES}

    @classmethod
    def make(cls, dtype="float32"):
        several = [Attention(units=5, gate=True, dtype=dtype), Attention("coverage", units=3, dtype=dtype)]
        return AttentionDecoder(GRUCell(4, dtype=dtype), several, VOCABULARY, **SIZES, dtype=dtype)

    def test_a_step_by_hand(self, decoder):
        """The concatenated contexts are inputs of the cell and of the readout."""
        tokens, values, summary, mask = self.inputs()
        memory, state = decoder.begin(values, mask, summary)
        for time in range(2):  # the second step depends on the coverage after the first
            context, weights = decoder.attention(state.cell[0], values, mask=mask)
            if time:
                looks = decoder.attention.attentions[1]
                _, second, _ = looks.attend(state.cell[0], looks.prepare(values, mask), state.attention[1])
                context = tf.concat([context[:, :WIDTH], tf.linalg.matvec(values, second, transpose_a=True)], -1)
                weights = tf.concat([weights[:, :SOURCE], second], -1)
            embedded = decoder.embedding(tokens[:, 0])
            drive = decoder.cell.project(embedded) + tf.matmul(context, decoder.context_kernel.value)
            hidden = decoder.cell.step(drive, state.cell)[0]
            read = tf.concat([hidden, context, embedded], -1) @ decoder.readout_kernel.value
            expected = tf.tanh(read + decoder.readout_bias) @ decoder.output_kernel.value + decoder.output_bias
            logits, looked, state = decoder.step(tokens[:, 0], state, memory)
            np.testing.assert_allclose(logits, expected, atol=1e-5)
            np.testing.assert_allclose(looked, weights, atol=1e-6)

    def test_beams_see_what_one_row_sees(self, decoder):
        _, values, summary, mask = self.inputs()
        memory, state = decoder.begin(values, mask, summary)
        limits = {"begin": 1, "end": 2, "max_length": 4}
        one = beam(decoder.stepper(), state, memory, width=1, **limits)
        two = greedy(decoder.step, state, memory, **limits)
        np.testing.assert_array_equal(one.tokens[:, 0], two.tokens)
        np.testing.assert_allclose(one.attention[:, 0], two.attention, atol=1e-6)


@pytest.mark.slow
class TestSeveralOfLuong(TestSeveralAttentions):
    @classmethod
    def make(cls, dtype="float32"):
        several = [Attention("general", dtype=dtype), Attention("coverage", units=3, dtype=dtype)]
        return LuongDecoder(LSTMCell(4, dtype=dtype), several, VOCABULARY, **SIZES, dtype=dtype)

    def test_a_step_by_hand(self, decoder):
        """The concatenated contexts are part of the attentional vector, which is fed back."""
        tokens, values, summary, mask = self.inputs()
        memory, state = decoder.begin(values, mask, summary)
        projected = decoder.cell.project(decoder.embedding(tokens[:, 0]))
        hidden = decoder.cell.step(projected, state.cell)[0]
        context, _ = decoder.attention(hidden, values, mask=mask)
        attentional = hidden @ decoder.state_kernel.value + context @ decoder.context_kernel.value
        attentional = tf.tanh(attentional + decoder.readout_bias)
        logits, _, after = decoder.step(tokens[:, 0], state, memory)
        np.testing.assert_allclose(after.fed[0], attentional, atol=1e-5)
        np.testing.assert_allclose(logits, attentional @ decoder.output_kernel.value + decoder.output_bias, atol=1e-5)


class TestPointer(DecoderTests):
    given = np.array([[-1, 0, 3, 2, 1], [-1, 2, 0, 2, 0], [-1, 0, 0, 0, 0]], "int32")
    arguments = {"jit_compile": None}

    @classmethod
    def make(cls, dtype="float32"):
        return PointerDecoder(GRUCell(4, dtype=dtype), Attention(units=5, dtype=dtype), dtype=dtype)

    def alone(self, decoder, given, values, summary, keep):
        places = np.array([list(keep).index(p) if p >= 0 else -1 for p in given.numpy()[0]], "int32")
        return decoder(places[None], values, summary)

    def kept(self, logits, keep):
        return tf.gather(logits, keep, axis=2)

    def test_places_that_are_not_kept_are_never_chosen(self, decoder):
        given, values, summary, mask = self.inputs()
        logits, _ = decoder(given, values, summary, mask=mask)
        assert (logits.numpy()[~np.broadcast_to(MASK[:, None], logits.shape)] < -1e30).all()
        assert MASK[1][tf.argmax(logits[1], -1).numpy()].all()


class TestPointerThatRemembers(TestPointer):
    @classmethod
    def make(cls, dtype="float32"):
        return PointerDecoder(GRUCell(4, dtype=dtype), Attention("coverage", units=5, dtype=dtype), dtype=dtype)


class TestScheduledSampling:
    @pytest.fixture(scope="class")
    @classmethod
    def decoder(cls):
        decoder = AttentionDecoder(GRUCell(4), Attention(units=5), VOCABULARY, **SIZES, scheduled_sampling=0.5)
        decoder.build((None, None), (None, None, WIDTH), (None, WIDTH))
        return decoder

    def run(self, decoder, rate, training=True):
        decoder.sampling_rate.assign(rate)
        given = tf.constant(TOKENS)
        return decoder(given, tf.constant(VALUES), tf.constant(SUMMARY), mask=tf.constant(MASK), training=training)[0]

    def test_never_is_teacher_forcing_and_so_is_inference(self, decoder):
        forced = self.run(decoder, 1.0, training=False)
        np.testing.assert_allclose(self.run(decoder, 0.0), forced, atol=1e-6)

    def test_always_is_greedy_decoding(self, decoder):
        memory, state = decoder.begin(tf.constant(VALUES), tf.constant(MASK), tf.constant(SUMMARY))
        token, expected = tf.constant(TOKENS[:, 0]), []
        for _ in range(TARGET):
            logits, _, state = decoder.step(token, state, memory)
            token = tf.argmax(logits, -1, output_type=tf.int32)
            expected.append(logits)
        np.testing.assert_allclose(self.run(decoder, 1.0), tf.stack(expected, 1), atol=1e-5)

    def test_outputs_are_seen_as_the_mean_of_what_they_may_be(self):
        options = {"scheduled_sampling": 1.0, "sampling_from": "outputs"}
        decoder = LuongDecoder(GRUCell(4), Attention(units=5), VOCABULARY, **SIZES, **options)
        decoder(tf.constant(TOKENS), tf.constant(VALUES), tf.constant(SUMMARY))
        memory, state = decoder.begin(tf.constant(VALUES), None, tf.constant(SUMMARY))
        embedded, expected = decoder.embedding(TOKENS[:, 0]), []
        for _ in range(TARGET):
            logits, _, state = decoder._step(embedded, state, memory, training=False)
            embedded = tf.nn.softmax(logits) @ decoder.embedding.embeddings.value
            expected.append(logits)
        found = decoder(tf.constant(TOKENS), tf.constant(VALUES), tf.constant(SUMMARY), training=True)[0]
        np.testing.assert_allclose(found, tf.stack(expected, 1), atol=1e-5)
        with pytest.raises(ValueError, match=r"sampling_from: expected one of .*Received: 'noise'"):
            LuongDecoder(GRUCell(4), Attention(units=5), VOCABULARY, sampling_from="noise")

    def test_half_is_neither(self, decoder):
        seen = {tuple(self.run(decoder, 0.5).numpy().ravel().round(5)) for _ in range(6)}
        assert len(seen) > 1

    def test_a_rate_out_of_range_is_refused(self):
        with pytest.raises(ValueError, match=r"scheduled_sampling: expected a number from 0 to 1\. Received: 2"):
            AttentionDecoder(GRUCell(4), Attention(units=5), VOCABULARY, scheduled_sampling=2)


def test_source_of_no_places():
    decoder = AttentionDecoder(GRUCell(4), Attention(units=5), VOCABULARY)
    logits, weights = decoder(tf.constant(TOKENS), tf.zeros([BATCH, 0, WIDTH]), tf.constant(SUMMARY))
    assert np.isfinite(logits).all()
    assert weights.shape == (BATCH, TARGET, 0)
    assert SOURCE > 0


def test_a_pointer_generates_with_an_unknown_number_of_places():
    decoder = PointerDecoder(GRUCell(4), Attention(units=5))
    decoder.build((None, None), (None, None, WIDTH), (None, WIDTH))

    def run(values, summary):
        memory, state = decoder.begin(values, None, summary)
        return greedy(decoder.step, state, memory, begin=-1, end=0, max_length=4, never=(2,)).tokens

    specs = [tf.TensorSpec([None, None, WIDTH]), tf.TensorSpec([None, WIDTH])]
    found = tf.function(run, specs, autograph=False)
    np.testing.assert_array_equal(found(VALUES, SUMMARY), run(tf.constant(VALUES), tf.constant(SUMMARY)))


@pytest.mark.parametrize("align", ["hard", "monotonic"])
def test_what_is_drawn_is_drawn_anew(align):
    """A loop with random sampling is not compiled, because all its steps would draw the same sample."""
    attention = Attention("additive", align, units=5)
    decoder = AttentionDecoder(GRUCell(4), attention, VOCABULARY, **SIZES, jit_compile=True)

    @tf.function(autograph=False)
    def run():
        arguments = tf.constant(TOKENS), tf.constant(VALUES), tf.constant(SUMMARY)
        return decoder.run(*arguments, mask=tf.constant(MASK), training=True)[1]

    before = attention.align.generator.state.numpy().copy()
    one, other = run().numpy(), run().numpy()
    assert (one != other).any()
    assert (attention.align.generator.state.numpy() != before).any()


def imported_with(name, found):
    """Return the modules of the package that are loaded with a module, by the top-level imports of their files."""
    path = ROOT.joinpath(*name.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if name in found or not path.is_file():  # visited, or a class rather than a module
        return found
    found.add(name)
    imported_with(name.rpartition(".")[0], found)
    for line in ast.parse(path.read_text()).body:
        if isinstance(line, ast.ImportFrom):
            for one in (line.module, *(f"{line.module}.{alias.name}" for alias in line.names)):
                imported_with(one, found)
        elif isinstance(line, ast.Import):
            for alias in line.names:
                imported_with(alias.name, found)
    return found


def classes_in(stored):
    """Return the registered classes of this package in Keras's configuration of a layer."""
    if isinstance(stored, dict):
        if str(stored.get("registered_name")).startswith("seqattn_tf>"):
            yield keras.saving.get_registered_object(stored["registered_name"])
        stored = list(stored.values())
    for one in stored if isinstance(stored, list) else ():
        yield from classes_in(one)


def test_what_a_file_is_made_of_comes_with_the_layers():
    """The slow test below loads a file in another process."""
    known = imported_with("seqattn_tf.layers", set())
    decoder = AttentionDecoder(GRUCell(4), Attention("general", "crf"), VOCABULARY, **SIZES)
    found = {kind.__module__ for kind in classes_in(keras.saving.serialize_keras_object(decoder))}
    assert len(found) == 5  # decoder, cell, attention, score, alignment
    assert found <= known


@pytest.mark.slow
def test_a_file_loads_in_a_process_that_imports_the_layers(tmp_path):
    tokens, values = keras.Input((TARGET,), dtype="int32"), keras.Input((SOURCE, WIDTH))
    decoder = AttentionDecoder(GRUCell(4), Attention("general", "crf"), VOCABULARY, **SIZES)
    keras.Model([tokens, values], decoder(tokens, values, values[:, 0])[0]).save(tmp_path / "m.keras")
    code = "import keras, seqattn_tf.layers; print(keras.models.load_model('m.keras').output_shape)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["(None,", f"{TARGET},", f"{VOCABULARY})"], done.stderr


def test_parts_of_the_wrong_kind_are_refused():
    with pytest.raises(ValueError, match=r"cell: expected a cell of seqattn_tf\.cells .*Received: 'gru'"):
        AttentionDecoder("gru", Attention(), VOCABULARY)
    with pytest.raises(ValueError, match=r"attention: expected an Attention\. Received: 'additive'"):
        PointerDecoder(GRUCell(4), "additive")
    with pytest.raises(ValueError, match="attention: expected a single Attention, whose weights are the output"):
        PointerDecoder(GRUCell(4), [Attention(), Attention()])
    with pytest.raises(ValueError, match="attentions: expected at least one Attention"):
        AttentionDecoder(GRUCell(4), [], VOCABULARY)
