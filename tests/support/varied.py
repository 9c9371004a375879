"""Networks with random weights whose answers differ in symbols, in lengths, and between seeds."""

import numpy as np

from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import EncoderDecoder

LETTERS, SOUNDS = SymbolRules(tuple("abc")), SymbolRules(tuple("ABCD"), tokenizer="spaces")
TEXTS = ["", "a", "ab", "cab", "c?a", "abcabcabcabc"]


def varied(seed=5, **settings):
    """Return an encoder-decoder from letters to sounds."""
    rng = np.random.default_rng(seed)
    network = EncoderDecoder.of_symbols(LETTERS.size, SOUNDS.size, **{"units": 6, "embedding": 4, **settings})
    network.build()
    for weight in network.trainable_weights:
        weight.assign(1.2 * rng.normal(size=weight.shape))
    return network
