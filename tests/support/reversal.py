"""Copying and reversing: tasks that every attention must be able to learn.

A sequence of symbols is copied or reversed. The network is trained with teacher forcing and evaluated by greedy
decoding of new sequences.
"""

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.cells import GRUCell
from seqattn_tf.decoders import AttentionDecoder
from seqattn_tf.decoding import greedy
from seqattn_tf.recurrent import Bidirectional

BEGIN, SYMBOLS, UNITS = 1, 8, 32
SIZE = SYMBOLS + 3  # padding, the start symbol, and the end mark of the input


def sequences(count, longest, seed, shortest=None, backwards=True, repeats=True):
    """Return inputs `[count, longest + 1]` with an end mark, and targets `[count, longest]`; both are padded with 0."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(shortest or longest, longest + 1, count)
    steps = rng.integers(0 if repeats else 1, SYMBOLS, (count, longest))
    symbols = 3 + (rng.integers(0, SYMBOLS, (count, 1)) + steps.cumsum(1)) % SYMBOLS  # a step of 0 repeats a symbol
    kept = np.arange(longest) < lengths[:, None]
    symbols = np.where(kept, symbols, 0)
    said = np.stack(
        [np.roll(row[::-1], n - longest) if backwards else row for row, n in zip(symbols, lengths, strict=True)]
    )
    read = np.pad(symbols, [(0, 0), (0, 1)])
    read[np.arange(count), lengths] = 2
    return read.astype("int32"), said.astype("int32")


class Repeater:
    """A small encoder-decoder with the given attention; with `near`, the encoding of symbols has no context."""

    def __init__(self, attention, near=False, decoder=AttentionDecoder, **options):
        self.embedding = keras.layers.Embedding(SIZE, UNITS)
        whole = {"return_sequences": True, "return_state": True}
        self.encoder = None if near else Bidirectional("gru", units=UNITS, merge_mode="sum", **whole)
        self.decoder = decoder(GRUCell(UNITS), attention, SIZE, embedding=16, readout=UNITS, **options)
        source, shifted = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
        values, summary, mask = self.read(source)
        logits, _ = self.decoder(shifted, values, summary, mask=mask)
        self.network = keras.Model([source, shifted], logits)

    def read(self, source):
        mask = keras.ops.not_equal(source, 0)
        embedded = self.embedding(source)
        if self.encoder is None:
            return embedded, keras.ops.zeros_like(embedded[:, 0]), mask
        values, ahead, back = self.encoder(embedded, mask=mask)
        return values, ahead + back, mask

    def learn(self, read, said, epochs, rate=5e-3):
        steps = epochs * (len(read) // 64)
        schedule = keras.optimizers.schedules.CosineDecay(0.0, steps, warmup_target=rate, warmup_steps=steps // 10)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.network.compile(keras.optimizers.Adam(schedule, global_clipnorm=1.0), loss)
        self.network.fit([read, shift(said)], said, sample_weight=(said != 0), batch_size=64, epochs=epochs, verbose=0)

    def accuracy(self, read, said):
        """Return the share of symbols that the network predicts correctly by greedy decoding."""
        values, summary, mask = self.read(tf.constant(read))
        memory, state = self.decoder.begin(values, mask, summary)
        found = greedy(
            self.decoder.step, state, memory, begin=BEGIN, end=2, max_length=said.shape[1], never=(0, BEGIN, 2)
        ).tokens.numpy()
        return (found == said)[said != 0].mean()


def shift(said):
    """Return the previous symbol of each step."""
    return np.pad(said, [(0, 0), (1, 0)], constant_values=BEGIN)[:, :-1]
