"""Text in, how it goes on out, a character at a time.

    seqattn train char_lm --data shakespeare
    seqattn train char_lm --data tfds:tiny_shakespeare --preset small

Data: tiny Shakespeare, or any one text in a folder; the last tenth is the test split, the first twentieth development.
Network: LSTM layers. Loss: cross-entropy of the next character. Metric: bits per character, each character having 256
to 512 before it, but for the first ones of the split.
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
    max_target=400,
    temperature=0.8,
)

recipe = Recipe(
    name="char_lm",
    summary="text -> how it goes on, by characters (Shakespeare)",
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
