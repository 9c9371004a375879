"""Character language model: the continuation of a text, one character at a time.

    seqattn train char_lm --data shakespeare
    seqattn train char_lm --data tfds:tiny_shakespeare --preset small

Data: tiny Shakespeare, or a single text in a folder; the last tenth is the test split, the first twentieth is for
development. Network: LSTM layers. Loss: cross-entropy of the next character. Metric: bits per character, where each
character, except for the first ones of the split, has 256 to 512 characters of context.
"""

import dataclasses

from seqattn_tf.training.data.corpora import shakespeare
from seqattn_tf.training.recipes.base import Recipe
from seqattn_tf.training.tasks import LanguageSettings, LanguageTask

FULL = LanguageSettings(
    units=512,
    embedding=64,
    depth=2,
    dropout=0.5,
    sequence_length=128,
    batch_size=32,
    epochs=40,
    learning_rate=2e-3,
    warmup_steps=200,
    patience=4,
    max_target_length=400,
    temperature=0.8,
)

recipe = Recipe(
    name="char_lm",
    summary="text -> continuation, by characters (Shakespeare)",
    load=lambda data, settings: shakespeare.characters(data),
    task=LanguageTask(window=512),
    settings=FULL,
    small=dataclasses.replace(
        FULL,
        units=192,
        embedding=48,
        depth=1,
        dropout=0.1,
        sequence_length=96,
        batch_size=16,
        epochs=4,
        learning_rate=4e-3,
        warmup_steps=100,
    ),
)
