"""Numbers in, one answer out, at lengths never seen: their sum, which of two streams is larger, the parity of bits.

    seqattn train toy --set task=parity
    seqattn train toy --set task=sum --set seed=1

Data: generated; sequences of up to 10 numbers to learn from, 11 to 20 to choose the best epoch, 40 to test. Network: a
linear recurrent cell for what adds up, a GRU for parity. Loss: squared error, or cross-entropy of the labels. Metric:
how many answers are exactly right.
"""

import dataclasses

from seqattn_tf.training.data import numbers
from seqattn_tf.training.recipes.base import Recipe
from seqattn_tf.training.tasks import NumberSettings, NumberTask

FULL = NumberSettings(batch_size=64, epochs=20, learning_rate=2e-2, warmup_steps=100, patience=20)

recipe = Recipe(
    name="toy",
    summary="numbers -> sum, comparison or parity (generated)",
    load=lambda _, s: numbers.load(s.task, s.longest, train=s.examples, seed=s.seed),
    task=NumberTask(),
    settings=FULL,
    small=dataclasses.replace(FULL, epochs=12),
)
