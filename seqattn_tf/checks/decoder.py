"""Checks of a decoder over symbols."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.checks.base import expect_close
from seqattn_tf.checks.sequence import BATCH, LENGTHS, MASK, RESERVED, TIME, WIDTH, LayerChecks, normal, spread
from seqattn_tf.decoders.base import Decoder

TARGET = 4


class DecoderChecks(LayerChecks):
    """Checks of a decoder over symbols.

    Args:
        part: A decoder without dropout. It is not modified.
    """

    family = Decoder
    half = 0.3

    def layer(self, dtype: str) -> Any:
        """Return the decoder, built for a memory and a summary."""
        decoder = self.clone(self.part, {"dtype": dtype})
        decoder.build((None, None), (None, None, WIDTH), (None, WIDTH))
        return decoder

    @property
    def given(self) -> np.ndarray:
        """The input symbols of the decoder."""
        return np.random.default_rng(3).integers(1, self.part.vocabulary, [BATCH, TARGET]).astype("int32")

    def arrays(self) -> list[np.ndarray]:
        """Return values and summaries."""
        return [normal(BATCH, TIME, WIDTH), normal(BATCH, WIDTH, seed=1)]

    def call(self, layer: Any, arrays: Sequence[tf.Tensor], mask: tf.Tensor) -> list[tf.Tensor]:
        """Return weights and logits. For fewer rows, the input symbols are those of the first rows."""
        given = tf.constant(self.given)[: tf.shape(mask)[0]]
        logits, weights = layer(given, arrays[0], arrays[1], mask=mask)
        return [weights, logits]

    def names_of(self, outputs: Sequence[tf.Tensor]) -> list[str]:
        return ["weights", "logits"]

    def check_mask(self) -> None:
        """Check that each row of a batch equals that row alone without its padding, whatever the padding contains."""
        layer = self.made()
        weights, logits = self.call(layer, self.constants(dirty=True), tf.constant(MASK))
        for row, length in enumerate(LENGTHS):
            if length:
                values, summary = (tf.constant(array) for array in self.alone(self.arrays(), row, length))
                expected, alone = layer(tf.constant(self.given[row : row + 1]), values, summary)
                what = f"of a row of length {length} in a batch with longer rows"
                expect_close(logits[row : row + 1], expected, 1e-8, f"logits {what}")
                expect_close(weights[row : row + 1, :, :length], alone, 1e-8, f"weights {what}")

    def check_empty_rows(self) -> None:
        """Check that a fully masked row has zero attention weights and finite logits."""
        weights, logits = self.call(self.made(), self.constants(dirty=True), tf.constant(MASK))
        empty = LENGTHS.index(0)
        expect_close(weights[empty], np.zeros(weights.shape[1:]), 0, "weights of a fully masked row")
        expect_close(logits[empty], logits[empty], 0, "logits of a fully masked row")

    def check_steps(self) -> None:
        """Check that `step`, called for one symbol at a time, returns the same as a call for all symbols."""
        layer, (values, summary), mask = self.made(), self.constants(), tf.constant(MASK)
        weights, logits = self.call(layer, [values, summary], mask)
        memory, state = layer.begin(values, mask, summary)
        for time in range(TARGET):
            found, looked, state = layer.step(tf.constant(self.given[:, time]), state, memory)
            expect_close(found, logits[:, time], 1e-8, f"logits of step {time}")
            expect_close(looked, weights[:, time], 1e-8, f"weights of step {time}")

    def model(self) -> tuple[keras.Model, list[np.ndarray]]:
        """Return the decoder as a model of symbols, values and summary."""
        inputs = [keras.Input((None,), dtype="int32"), keras.Input((None, WIDTH)), keras.Input((WIDTH,))]
        logits, _ = self.clone(self.part, {})(*inputs)
        return keras.Model(inputs, logits), [self.given, *(array.astype("float32") for array in self.arrays())]

    def system(self) -> Any:
        """Return an encoder-decoder with this decoder."""
        from seqattn_tf.encoders import BidirectionalEncoder
        from seqattn_tf.lite.fields import Text
        from seqattn_tf.lite.targets import Symbols
        from seqattn_tf.lite.text import SymbolRules
        from seqattn_tf.models import EncoderDecoder, Seq2Seq

        letters = SymbolRules(tuple("abc"))
        says = SymbolRules(tuple(chr(ord("A") + i) for i in range(self.part.vocabulary - RESERVED)))
        network = EncoderDecoder(BidirectionalEncoder(letters.size, units=WIDTH), self.clone(self.part, {}))
        return Seq2Seq(spread(network), {"text": Text(letters, 12)}, Symbols(says, 4))
