"""A small generated language whose rule can be learned in seconds: pronounce each letter, in reverse order."""

import dataclasses
import random

from seqattn_tf.training.data import Splits, from_text
from seqattn_tf.training.metrics import ERRORS
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.tasks import PairSettings, PairTask

SETTINGS = PairSettings(
    units=24,
    embedding=12,
    dropout=0.0,
    label_smoothing=0.0,
    batch_size=32,
    epochs=4,
    learning_rate=2e-2,
    warmup_steps=20,
    target_tokenizer="spaces",
)
SHORT = dataclasses.replace(  # ten steps per epoch, and all options with a state
    SETTINGS, epochs=2, max_examples=320, dropout=0.3, ema_decay=0.9, label_smoothing=0.1, weight_decay=0.01, patience=9
)


def language(_folder=None, _settings=None):
    generator = random.Random(0)
    words = {"".join(generator.choices("abcd", k=generator.randint(1, 4))) for _ in range(2000)}
    examples = [from_text(word, " ".join(reversed(word.upper()))) for word in sorted(words)]
    generator.shuffle(examples)
    return Splits(examples[60:] * 12, examples[:30], examples[30:60], "made up")


RECIPE = Recipe(
    name="pronounce",
    summary="reverse",
    load=language,
    task=PairTask(metrics=[ERRORS]),
    settings=SETTINGS,
    small=SETTINGS,
)
