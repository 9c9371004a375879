"""Several sentences that say the same, in one: four captions of a picture -> the fifth.

    seqattn train summarize --data flickr8k

Data: Flickr8k's captions. Encoder: hierarchical, words of each caption and captions in a row. Decoder: GRU with
additive attention over all words. Loss: cross-entropy of the words. Metric: ROUGE.
"""

import dataclasses

from seqattn_tf.training.data import flickr8k
from seqattn_tf.training.metrics import rouge
from seqattn_tf.training.recipes.base import Recipe
from seqattn_tf.training.tasks import PairSettings, PairTask

FULL = PairSettings(
    encoder="hierarchical",
    source_split="words",
    target_split="words",
    fold="all",
    least=4,
    units=256,
    embedding=128,
    cell="gru",
    dropout=0.4,
    batch=64,
    epochs=8,
    rate=1e-3,
    max_source=250,
    max_target=50,
    beam=5,
    alternatives=2,
    length_penalty=1.0,
)

recipe = Recipe(
    name="summarize",
    summary="sentences -> one sentence (Flickr8k: four captions -> the fifth)",
    load=lambda data, settings: flickr8k.load(data),
    task=PairTask(metrics=[rouge], monitor="rougeL", rising=True),
    settings=FULL,
    small=dataclasses.replace(FULL, units=96, embedding=64, batch=32, epochs=2, rate=2e-3, warmup=200),
)
