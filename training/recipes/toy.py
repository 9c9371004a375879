"""Numbers in, one answer out, at lengths never seen: their sum, which of two streams is larger, the parity of bits.

    seqattn train toy --set task=parity
    seqattn train toy --set task=sum --set seed=1

Data: generated; sequences of up to 10 numbers to learn from, 11 to 20 to choose the best epoch, 40 to test. Network: a
linear recurrent cell for what adds up, a GRU for parity. Loss: squared error, or cross-entropy of the labels. Metric:
how many answers are exactly right.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits, numbers
from seqattn_tf.training.recipes.base import Recipe, refuse_data
from seqattn_tf.training.tasks import NumberSettings, NumberTask

FULL = NumberSettings(batch_size=64, epochs=20, learning_rate=2e-2, warmup_steps=100, patience=20)


def load(data: str | Path | None, settings: NumberSettings) -> Splits:
    """Generated sequences."""
    refuse_data(data)
    return numbers.load(settings.task, settings.longest, train=settings.examples, seed=settings.seed)


recipe = Recipe(
    name="toy",
    summary="numbers -> sum, comparison or parity (generated)",
    load=load,
    task=NumberTask(),
    settings=FULL,
    small=dataclasses.replace(FULL, epochs=12),
)
