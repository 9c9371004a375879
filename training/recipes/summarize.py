"""Summarization: one sentence from several with the same meaning, such as the fifth caption of an image from four.

    seqattn train summarize --data flickr8k

Data: the captions of Flickr8k. Encoder: hierarchical, over the words of each caption and over captions. Decoder: GRU
with additive attention over all words. Loss: cross-entropy of the words. Metric: ROUGE.
"""

import dataclasses

from seqattn_tf.training.data.corpora import flickr8k
from seqattn_tf.training.metrics import ROUGE
from seqattn_tf.training.recipes.base import WORDS, Recipe
from seqattn_tf.training.tasks import PairSettings, PairTask

FULL = PairSettings(
    **WORDS,
    encoder="hierarchical",
    min_count=4,
    dropout=0.4,
    batch_size=64,
    epochs=8,
    max_source_length=250,
    max_target_length=50,
)

recipe = Recipe(
    name="summarize",
    summary="sentences -> one sentence (Flickr8k: four captions -> the fifth)",
    load=lambda data, settings: flickr8k.load(data),
    task=PairTask(metrics=[ROUGE]),
    settings=FULL,
    small=dataclasses.replace(
        FULL, units=96, embedding=64, batch_size=32, epochs=2, learning_rate=2e-3, warmup_steps=200
    ),
)
