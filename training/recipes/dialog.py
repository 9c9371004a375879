"""Dialog: the next speech of a play from the previous ones.

    seqattn train dialog --data shakespeare

Data: Shakespeare's speeches (tiny Shakespeare). Encoder: hierarchical, over the words of each speech and over speeches.
Decoder: GRU with additive attention over all words. Loss: cross-entropy of the words. Metric: perplexity.
"""

import dataclasses

from seqattn_tf.training.data.corpora import shakespeare
from seqattn_tf.training.recipes.base import WORDS, Recipe
from seqattn_tf.training.tasks import PairSettings, PairTask

FULL = PairSettings(
    **WORDS,
    encoder="hierarchical",
    min_count=3,
    dropout=0.5,
    batch_size=32,
    epochs=12,
    warmup_steps=200,
    max_source_length=250,
    max_target_length=80,
)

recipe = Recipe(
    name="dialog",
    summary="turns -> reply (Shakespeare's speeches)",
    load=lambda data, settings: shakespeare.dialog(data),
    task=PairTask(),
    settings=FULL,
    small=dataclasses.replace(FULL, units=64, embedding=64, dropout=0.3, epochs=2, learning_rate=3e-3, warmup_steps=50),
)
