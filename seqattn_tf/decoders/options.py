"""The options of attention decoders over symbols, declared in one place."""

import dataclasses
from typing import Any

from seqattn_tf.attention import Attention
from seqattn_tf.cells import Cell
from seqattn_tf.core.settings import setting
from seqattn_tf.decoders.symbols import SymbolDecoder


@dataclasses.dataclass(frozen=True)
class DecoderOptions:
    """The options of an attention decoder: the names of its parts, and how it is conditioned on the source.

    `EncoderDecoder.of_symbols` and `.of_encoder` take these options by name; the settings of recipes inherit them.

    Args:
        decoder: The decoder: `"bahdanau"`, `"luong"` or `"stacked"`.
        conditioning: How the decoder is conditioned on the source: `"attention"`; `"input"`, by the summary of the
            encoder in the initial state and at every step; `"state"`, by the summary in the initial state alone.
        bridge: Which initial states of the decoder are computed from the summary of the encoder: `"all"` or `"first"`.
        score, align: The parts of the attention or their names.
        gate: Whether the decoder's state also controls how much of the context is read.
        scheduled_sampling: The probability that a step reads the decoder's own symbol in training. See `SymbolDecoder`.

    >>> DecoderOptions(decoder="luong").make_decoder(30, units=8, cell="gru", embedding=4).vocabulary
    30
    """

    decoder: str = setting("bahdanau", "decoder type: bahdanau, luong, stacked, or a plug-in")
    conditioning: str = setting(
        "attention",
        "how the decoder uses the source: attention, input (summary at every step), state (initial state only)",
    )
    bridge: str = setting("all", "decoder states initialized from the encoder: all, first")
    score: str = setting(
        "additive",
        "attention score: additive, general, dot, scaled_dot, cosine, location, coverage, ..., or a plug-in",
    )
    align: str = setting(
        "softmax",
        "how scores become weights: softmax, sigmoid, sparsemax, entmax, crf, segments, monotonic, hard, or a plug-in",
    )
    gate: bool = setting(False, "scale the context by a gate computed from the decoder state")
    scheduled_sampling: float = setting(0.0, "probability of feeding the decoder's own prediction during training")

    def make_decoder(self, vocabulary: int, *, units: int, cell: str, dtype: Any = None, **sizes: Any) -> SymbolDecoder:
        """Create the decoder.

        Args:
            vocabulary: The number of symbols.
            units: The size of the cell, the score and the readout.
            cell: The name of the recurrent cell.
            dtype: The data type of all parts.
            **sizes: Further arguments of a `SymbolDecoder`.
        """
        attention = Attention(self.score, self.align, units=units, gate=self.gate, dtype=dtype)
        return SymbolDecoder.get(
            self.decoder,
            cell=Cell.get(cell, units=units, dtype=dtype),
            attention=attention,
            vocabulary=vocabulary,
            readout=units,
            scheduled_sampling=self.scheduled_sampling,
            bridge=self.bridge,
            dtype=dtype,
            **sizes,
        )
