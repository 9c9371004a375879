"""Every attention can be trained to copy or reverse sequences; the accuracy is measured on new sequences."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.reversal import SYMBOLS, UNITS, Repeater, sequences, shift

from seqattn_tf.attention import Attention, HardAlignment, HeadsAlignment, LocationScore, Reinforce
from seqattn_tf.decoders import LuongDecoder
from seqattn_tf.recurrent import Bidirectional

ALIGNMENTS = ("softmax", "sparsemax", "entmax", "sigmoid", "hard", "crf", "segments", "monotonic")
SCORES = ("dot", "scaled_dot", "general", "scaled_general", "location", "coverage", "cosine")


def learned(attention, epochs=4, decoder=None, **task):
    """Return the accuracy on new sequences after training for a number of epochs with 4096 sequences each."""
    keras.utils.set_random_seed(0)
    repeater = Repeater(attention, **({} if decoder is None else {"decoder": decoder}))
    repeater.learn(*sequences(4096, 6, seed=1, **task), epochs)
    return repeater.accuracy(*sequences(500, 6, seed=2, **task))


@pytest.mark.slow
def test_additive_softmax_reverses():
    assert learned(Attention(units=UNITS), epochs=3) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("align", ALIGNMENTS)
def test_every_alignment_with_the_additive_score(align):
    backwards = align != "monotonic"  # monotonic attention never moves back
    assert learned(Attention("additive", align, units=UNITS), epochs=8, backwards=backwards) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("score", SCORES)
def test_every_score_with_softmax(score):
    assert learned(Attention(score, units=UNITS), epochs=6) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("feeding", [True, False])
def test_luongs_order(feeding):
    def decoder(*arguments, **options):
        return LuongDecoder(*arguments, input_feeding=feeding, **options)

    assert learned(Attention("general"), epochs=6, decoder=decoder) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("name", ["location", "monotonic"])
@pytest.mark.parametrize("seed", [0, 1])
def test_holds_on_sequences_twice_as_long(name, seed):
    """Symbols have no context; after training on 2 to 8 symbols, 16 symbols are copied in their order."""
    attentions = {
        "location": lambda: (Attention(LocationScore(UNITS, width=3)), True),
        "monotonic": lambda: (Attention("additive", "monotonic", units=UNITS), False),  # cannot copy a symbol twice
    }
    keras.utils.set_random_seed(seed)
    attention, repeats = attentions[name]()
    repeater = Repeater(attention, near=True)
    task = {"backwards": False, "repeats": repeats}
    epochs = 16 if name == "monotonic" else 8  # its noise makes training slow
    repeater.learn(*sequences(4096, 8, seed=1, shortest=2, **task), epochs=epochs)
    assert repeater.accuracy(*sequences(500, 8, seed=2, **task)) > 0.95
    assert repeater.accuracy(*sequences(500, 16, seed=3, **task)) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("tree", ["projective", "spanning"])
def test_heads_find_the_neighbour_on_the_left(tree):
    """With self-attention, every position predicts the previous symbol, so its head is the previous position."""
    keras.utils.set_random_seed(0)
    read, _ = sequences(4096, 6, seed=1)
    source = keras.Input((7,), dtype="int32")
    embedded = keras.layers.Embedding(SYMBOLS + 3, UNITS)(source)
    states = Bidirectional("gru", units=UNITS, return_sequences=True)(embedded)
    context, weights = Attention("additive", HeadsAlignment(tree), units=UNITS)(states, embedded)
    network = keras.Model(source, keras.layers.Dense(SYMBOLS + 3)(context))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    network.compile(keras.optimizers.Adam(5e-3, global_clipnorm=1.0), loss)
    counted = np.broadcast_to(np.arange(7) > 0, read.shape)  # nothing precedes the first position
    network.fit(read, np.roll(read, 1, axis=1), sample_weight=counted, epochs=6, verbose=0)
    fresh, _ = sequences(300, 6, seed=2)
    found = tf.argmax(network(fresh), -1).numpy()
    assert (found[:, 1:] == fresh[:, :-1]).mean() > 0.95
    soft = keras.Model(source, weights)(fresh).numpy()
    assert np.mean([soft[:, i, i - 1] for i in range(1, 7)]) > 0.8


@pytest.mark.slow
def test_hard_attention_learns_from_samples():
    """With REINFORCE, the log-likelihood of the answer is the reward for the sampled positions."""
    keras.utils.set_random_seed(0)
    repeater = Repeater(Attention("additive", HardAlignment("reinforce"), units=UNITS))
    reinforce = Reinforce(decay=0.95, entropy=0.02)
    reinforce.build()
    read, said = sequences(4096, 3, seed=1)
    optimizer = keras.optimizers.Adam(5e-3, global_clipnorm=1.0)
    weights = repeater.network.trainable_variables

    @tf.function
    def step(read, shifted, said):
        with tf.GradientTape() as tape:
            values, summary, mask = repeater.read(read)
            logits, _, last = repeater.decoder.run(shifted, values, summary, mask=mask, training=True)
            gained = -tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(said, logits), axis=1)
            sampled = last.attention.align
            loss = -tf.reduce_mean(gained) + reinforce(gained, sampled.log_prob, sampled.entropy, training=True)
        optimizer.apply(tape.gradient(loss, weights), weights)

    for _ in range(12):
        for start in range(0, 4096, 64):
            rows = slice(start, start + 64)
            step(tf.constant(read[rows]), tf.constant(shift(said)[rows]), tf.constant(said[rows]))
    assert repeater.accuracy(*sequences(500, 3, seed=2)) > 0.9
