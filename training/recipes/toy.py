"""Toy tasks with an exact rule for every length: one answer about numbers, or a sequence derived from the input.

    seqattn train toy --set task=parity
    seqattn train toy --set task=sum --set seed=1
    seqattn train toy --set task=sort --set learning_rate=5e-3
    seqattn train toy --set task=copy --set max_length=20 --set learning_rate=5e-3
    seqattn train toy --set task=recall --set max_length=6 --set learning_rate=4e-3 --set memory_slots=20 \\
        --set num_examples=200000

Data: generated; sequences of up to 10 numbers for training. Sum, comparison and parity: 11 to 20 numbers to select the
best epoch, 40 for testing. Sort, copy and recall: the lengths of training for selection, these and lengths up to 40 for
testing. Network: a linear recurrent cell for sum and comparison, a GRU for parity, a pointer decoder to sort, a memory
cell to copy and recall. Loss: squared error, or cross-entropy of labels or symbols. Metric: share of exactly correct
answers, by length.
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
    """Load generated sequences."""
    refuse_data(data)
    data_of = sequences if settings.task in sequences.TASKS else numbers
    return data_of.load(settings.task, settings.max_length, train=settings.num_examples, seed=settings.seed)


def by_length(answers: dict, references: dict, notes: dict) -> list[tuple[str, int, float]]:
    """Return the accuracy for each length if the data contain lengths."""
    lengths = {key: int(note) for key, note in notes.items()}
    return [(str(key), *row) for key, row in accuracy_by(lengths, answers, references).items()] if notes else []


recipe = Recipe(
    name="toy",
    summary="numbers -> sum, comparison, parity; sort, copy, recall (generated)",
    load=load,
    task=NumberTask(groups={"accuracy by length": by_length}),
    settings=FULL,
    small=dataclasses.replace(FULL, epochs=12),
)
