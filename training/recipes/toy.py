"""What an exact rule solves at every length: one answer about numbers, or a sequence made of what was read.

    seqattn train toy --set task=parity
    seqattn train toy --set task=sum --set seed=1
    seqattn train toy --set task=sort --set learning_rate=5e-3
    seqattn train toy --set task=copy --set longest=20 --set learning_rate=5e-3
    seqattn train toy --set task=recall --set longest=6 --set learning_rate=4e-3 --set slots=20 --set examples=200000

Data: generated; sequences of up to 10 numbers to learn from. Sum, comparison and parity: 11 to 20 to choose the best
epoch, 40 to test. Sort, copy and recall: the same lengths to choose by, those and up to 40 to test. Network: a linear
recurrent cell for what adds up, a GRU for parity, a pointer decoder to sort, a memory cell to copy and recall. Loss:
squared error, or cross-entropy of labels or symbols. Metric: how many answers are exactly right, by length.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import numbers, sequences
from seqattn_tf.training.metrics import accuracy_by
from seqattn_tf.training.recipes.base import Recipe, refuse_data
from seqattn_tf.training.tasks import NumberSettings, NumberTask

FULL = NumberSettings(batch_size=64, epochs=20, learning_rate=2e-2, warmup_steps=100, patience=20)


def load(data: str | Path | None, settings: NumberSettings) -> Splits:
    """Generated sequences."""
    refuse_data(data)
    data_of = sequences if settings.task in sequences.TASKS else numbers
    return data_of.load(settings.task, settings.longest, train=settings.examples, seed=settings.seed)


def by_length(answers: dict, references: dict, notes: dict) -> list[tuple[str, int, float]]:
    """Accuracy at each length, where the data say it."""
    lengths = {key: int(note) for key, note in notes.items()}
    return [(str(key), *row) for key, row in accuracy_by(lengths, answers, references).items()] if notes else []


recipe = Recipe(
    name="toy",
    summary="numbers -> sum, comparison, parity; sorted, copied, recalled (generated)",
    load=load,
    task=NumberTask(groups={"accuracy by length": by_length}),
    settings=FULL,
    small=dataclasses.replace(FULL, epochs=12),
)
