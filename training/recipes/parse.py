"""Dependency parsing: for each word its head, and the relation to it.

    seqattn train parse --data UD_English-EWT
    seqattn train parse --data UD_English-EWT --set structure=spanning

Data: CoNLL-U, or columns with heads and relations. Encoder: a bidirectional LSTM of two layers over words and their
letters. Output: a distribution over all projective trees, or all trees, from a biaffine score of every arc. Loss:
negative log-likelihood of the trees and of their relations. Metric: attachment scores.
"""

import dataclasses
from pathlib import Path

import numpy as np

from seqattn_tf.lite.targets.tree import check_tree
from seqattn_tf.training.data import Splits, column_files
from seqattn_tf.training.recipes.base import Recipe
from seqattn_tf.training.tasks import ParseSettings, ParseTask

FULL = ParseSettings(
    units=200,
    depth=2,
    embedding=100,
    dropout=0.33,
    batch_size=32,
    epochs=30,
    learning_rate=2e-3,
    warmup_steps=300,
    clip_norm=5.0,
)


def tree_of(rows: list[tuple[str, ...]]) -> str:
    """Return the heads and relations of a sentence in the form of the target."""
    if wrong := [head for _, head, _ in rows if not head.isdecimal() or int(head) > len(rows)]:
        raise ValueError(f"expected heads from 0 to {len(rows)}. Received: {wrong[0]}")
    check_tree(np.array([int(head) for _, head, _ in rows]))
    return " ".join(f"{head}:{relation.replace(' ', '_')}" for _, head, relation in rows)


def load(data: str | Path | None, settings: ParseSettings) -> Splits:
    """Load the sentences of column files."""
    return column_files.load(data, [settings.word_column, settings.head_column, settings.relation_column], tree_of)


recipe = Recipe(
    name="parse",
    summary="words -> heads and relations (Universal Dependencies)",
    load=load,
    task=ParseTask(),
    settings=FULL,
    small=dataclasses.replace(
        FULL, units=64, embedding=48, filters=24, arc_units=64, relation_units=32, epochs=3, learning_rate=4e-3
    ),
)
