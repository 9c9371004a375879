"""Checks of an encoder, on texts or on the values of a field."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.checks.base import Checks, expect, expect_close, expect_stored
from seqattn_tf.checks.sequence import RESERVED, WIDTH, expect_slopes, export_system, normal, spread
from seqattn_tf.encoders import Encoder, EncoderOutput
from seqattn_tf.inputs import graph_field
from seqattn_tf.lite.fields import Field, Text
from seqattn_tf.lite.text import SymbolRules


class EncoderChecks(Checks):
    """Checks of an encoder.

    Args:
        part: An encoder. It is not modified.
        field: The field that it reads. Defaults to a `Text` with as many symbols as its `vocabulary`.
    """

    def __init__(self, part: Encoder, field: Field | None = None) -> None:
        super().__init__(part)
        self.field = field or self._text()
        graph = graph_field(self.field, part.input_name)
        values = [self.field.raw(value) for value in self.field.sample_inputs(6)]
        self.tensors = {f"{part.input_name}_{name}": one for name, one in graph.encode(tf.constant(values)).items()}
        self.ids = next(iter(self.tensors))

    def _text(self) -> Text:
        size = self.part.get_config().get("vocabulary")
        if self.part.field_type != "text" or not isinstance(size, int) or size <= RESERVED:
            raise ValueError(f"field: expected a field of type {self.part.field_type!r} to read. Received: none")
        return Text(SymbolRules(tuple(chr(ord("a") + i) for i in range(size - RESERVED))), 12)

    def names(self) -> list[str]:
        """Return the names of the checks, without those that apply only to texts if the field is another one."""
        return [name for name in super().names() if isinstance(self.field, Text) or name not in ("mask", "exports")]

    def made(self, dtype: str = "float64") -> Any:
        """Return a new encoder with the same configuration and normally distributed weights."""
        encoder = type(self.part).from_config({**self.part.get_config(), "dtype": dtype})
        encoder(self.tensors)
        for number, weight in enumerate(encoder.trainable_variables):
            weight.assign(0.7 * normal(*weight.shape, seed=number))
        return encoder

    def check_configuration(self) -> None:
        """Check that `get_config` contains every constructor argument and `from_config` accepts them."""
        expect_stored(self.part, Encoder, lambda part, new: type(part).from_config({**part.get_config(), **new}))

    def check_contract(self) -> None:
        """Check that values, mask and summary have the shapes that the encoder declares."""
        encoder = self.made()
        read = encoder(self.tensors)
        expect(isinstance(read, EncoderOutput), f"call: expected an EncoderOutput. Received: {type(read).__name__}")
        batch = len(self.tensors[self.ids])
        places = read.values.shape[1]
        for name, found, expected in (
            ("values", read.values.shape, (batch, places, encoder.output_size)),
            ("mask", read.mask.shape, (batch, places)),
            ("summary", read.summary.shape, (batch, encoder.summary_size)),
            ("input_lengths", encoder.input_lengths(self.tensors).shape, (batch,)),
        ):
            expect(tuple(found) == expected, f"{name}: expected the shape {expected}. Received: {tuple(found)}")
        expect(read.mask.dtype == tf.bool, f"mask: expected bool, True = keep. Received: {read.mask.dtype.name}")
        expect_close(read.values, read.values, 0, "values")

    def _padded(self, count: int) -> dict[str, tf.Tensor]:
        return {
            name: tf.pad(one, [[0, 0], [0, count], *[[0, 0]] * (one.shape.rank - 2)]) if one.shape.rank > 1 else one
            for name, one in self.tensors.items()
        }

    def check_mask(self) -> None:
        """Check that padding after the longest row changes nothing."""
        encoder = self.made()
        read, padded = encoder(self.tensors), encoder(self._padded(3))
        places, kept = read.values.shape[1], read.mask.numpy()
        expect_close(padded.summary, read.summary, 1e-8, "summary of padded rows")
        expect_close(padded.values[:, :places].numpy()[kept], read.values.numpy()[kept], 1e-8, "values of padded rows")
        expect(not padded.mask[:, places:].numpy().any(), "mask of padding: expected False. Received: True")

    def check_empty_rows(self) -> None:
        """Check that an empty row is fully masked and has finite outputs."""
        encoder = self.made()
        empty = {name: tf.zeros_like(one) for name, one in self.tensors.items()}
        read = encoder(empty)
        if not encoder.input_lengths(empty).numpy().any():
            expect(not read.mask.numpy().any(), "mask of an empty row: expected False everywhere. Received: True")
        expect_close(read.summary, read.summary, 0, "summary of an empty row")

    def check_short_sequences(self) -> None:
        """Check that a graph with unknown shapes returns the same as eager execution, also for a batch without rows."""
        encoder = self.made()
        graph = graph_field(self.field, self.part.input_name)
        specs = {f"{self.part.input_name}_{name}": spec for name, spec in graph.tensors.items()}
        traced = tf.function(lambda tensors: encoder(tensors)[:3], input_signature=[specs], autograph=False)
        for what, tensors in (("all rows", self.tensors), ("no rows", {n: t[:0] for n, t in self.tensors.items()})):
            for one, other in zip(traced(tensors), encoder(tensors)[:3], strict=True):
                expect_close(one, other, 1e-8, f"{what} in a graph with unknown shapes")

    def check_gradients(self) -> None:
        """Check that the gradients of the weights are finite and equal to finite differences."""
        encoder = self.made()
        weights = [tf.constant(weight.numpy()) for weight in encoder.trainable_variables]

        @tf.function(autograph=False)
        def loss(*given: tf.Tensor) -> tf.Tensor:
            mapping = list(zip(encoder.trainable_variables, given, strict=True))
            with keras.StatelessScope(state_mapping=mapping):
                read = encoder(self.tensors)
            kept = tf.where(read.mask[..., None], read.values, 0)
            return tf.reduce_sum(tf.sin(kept)) + tf.reduce_sum(tf.cos(read.summary))

        with tf.GradientTape() as tape:
            tape.watch(weights)
            value = loss(*weights)
        found = [tf.convert_to_tensor(one) for one in tape.gradient(value, weights, unconnected_gradients="zero")]
        expect_slopes(loss, weights, found, 1e-4)

    def check_xla(self) -> None:
        """Check that the outputs are the same when compiled by XLA."""
        encoder = self.made()
        compiled = tf.function(lambda: encoder(self.tensors)[:3], jit_compile=True, autograph=False)
        for one, other in zip(compiled(), encoder(self.tensors)[:3], strict=True):
            expect_close(one, other, 1e-8, "output compiled by XLA")

    def check_mixed_precision(self) -> None:
        """Check that the outputs in half precision are close to those in single precision."""
        single = self.made("float32")
        expected = single(self.tensors)
        for dtype in ("mixed_bfloat16", "mixed_float16"):
            half = type(self.part).from_config({**self.part.get_config(), "dtype": dtype})
            half(self.tensors)
            half.set_weights(single.get_weights())
            read = half(self.tensors)
            wanted = dtype.removeprefix("mixed_")
            found = read.values.dtype.name
            expect(found == wanted, f"values in {dtype}: expected {wanted}. Received: {found}")
            expect_close(tf.cast(read.summary, tf.float32), expected.summary, 0.1, f"summary in {dtype}")

    def check_saving(self) -> None:
        """Check that an encoder restored from its serialized form with the same weights returns the same values."""
        encoder = self.made("float32")
        again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(encoder))
        again(self.tensors)
        again.set_weights(encoder.get_weights())
        expect_close(again(self.tensors).values, encoder(self.tensors).values, 1e-6, "values of the loaded encoder")

    def check_exports(self) -> None:
        """Check that a system with the encoder can be exported as SavedModel and LiteRT with the same results."""
        from seqattn_tf.attention import Attention
        from seqattn_tf.cells import GRUCell
        from seqattn_tf.decoders import AttentionDecoder
        from seqattn_tf.lite.targets import Symbols
        from seqattn_tf.models import EncoderDecoder, Seq2Seq

        letters = SymbolRules(tuple("abc"))
        encoder = type(self.part).from_config(self.part.get_config())
        decoder = AttentionDecoder(GRUCell(WIDTH), Attention(units=WIDTH), vocabulary=letters.size, embedding=WIDTH)
        network = EncoderDecoder(encoder, decoder)
        export_system(Seq2Seq(spread(network), {self.part.input_name: self.field}, Symbols(letters, 4)))
