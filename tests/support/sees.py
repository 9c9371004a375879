"""A training that takes a second: whether a letter is among up to seven, told by a network without a loop.

For tests of what every training does. What only a decoder does is tested with `support.reverse`, which takes ten times
as long.
"""

import dataclasses
import random

from seqattn_tf.training.data import Splits, from_text
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.tasks.classifying import ClassifySettings, ClassifyTask


@dataclasses.dataclass(frozen=True)
class WordsAlone(ClassifySettings):
    """Settings of a classifier that reads every word by itself."""

    heads: str = "none"


SETTINGS = WordsAlone(
    encoder="heads",
    split="spaces",
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
WHOLE = dataclasses.replace(SETTINGS, average=0.9, weight_decay=0.01)  # all that has a state; five steps an epoch


def sentences(_folder=None, _settings=None):
    """Up to seven words; whether `a` is among them."""
    generator = random.Random(0)
    drawn = {" ".join(generator.choices("abcdefg", k=generator.randint(1, 7))) for _ in range(60)}
    rows = [from_text(text, "yes" if "a" in text else "no") for text in sorted(drawn)]
    generator.shuffle(rows)
    return Splits(rows[16:], rows[:8], rows[8:16], "made up")


RECIPE = Recipe("classify", "sees a letter", sentences, ClassifyTask(), SETTINGS, SETTINGS)
