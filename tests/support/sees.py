"""A training of one second: a network without a loop detects whether a letter is among up to seven.

For tests of features that all trainings share. Features of decoders are tested with `support.reverse`, which takes ten
times as long.
"""

import dataclasses
import random

from seqattn_tf.training.data import Splits, from_text
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.tasks.classifying import ClassifySettings, ClassifyTask


@dataclasses.dataclass(frozen=True)
class WordsAlone(ClassifySettings):
    """The settings of a classifier that encodes every word separately."""

    head_attention: str = "none"


SETTINGS = WordsAlone(
    encoder="heads",
    tokenizer="spaces",
    min_count=1,
    units=6,
    embedding=5,
    dropout=0.2,
    batch_size=8,
    epochs=2,
    learning_rate=1e-2,
    warmup_steps=2,
    patience=9,
)
# With all options that have a state; five steps per epoch.
WHOLE = dataclasses.replace(SETTINGS, ema_decay=0.9, weight_decay=0.01)


def sentences(_folder=None, _settings=None):
    """Return texts of up to seven words, labeled by whether they contain `a`."""
    generator = random.Random(0)
    drawn = {" ".join(generator.choices("abcdefg", k=generator.randint(1, 7))) for _ in range(60)}
    rows = [from_text(text, "yes" if "a" in text else "no") for text in sorted(drawn)]
    generator.shuffle(rows)
    return Splits(rows[16:], rows[:8], rows[8:16], "made up")


RECIPE = Recipe("classify", "sees a letter", sentences, ClassifyTask(), SETTINGS, SETTINGS)
