"""Transliteration of names to another script: English -> katakana, romanized Hindi -> Devanagari.

    seqattn train transliterate --data katakana
    seqattn train transliterate --data katakana --preset small

Data: a CSV, TSV or JSONL file, or a folder with train, dev and test; spaces inside a target are removed. Encoder:
bidirectional LSTMs over letters. Decoder: LSTM with Luong attention. Loss: cross-entropy of the letters. Metric: how
often the correct spelling is the best answer, among the two best, and among the three best.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.metrics import EXACT
from seqattn_tf.training.recipes.base import Recipe, load_pairs
from seqattn_tf.training.synthetic import synthesize_words
from seqattn_tf.training.tasks import PairTask, TableSettings

FULL = TableSettings(
    text_column="0",
    target_column="1",
    lowercase=True,
    decoder="luong",
    units=384,
    embedding=128,
    depth=2,
    dropout=0.5,
    epochs=40,
    beam_width=5,
    alternatives=4,
    max_source_length=100,
    max_target_length=100,
)


def load(data: str | Path | None, settings: TableSettings) -> Splits:
    """Load the examples of the folder, with the letters of the targets joined."""
    splits = load_pairs(data, settings)
    train, dev, test = (
        [example._replace(target=example.target.replace(" ", "")) for example in part]
        for part in (splits.train, splits.dev, splits.test)
    )
    return dataclasses.replace(splits, train=train, dev=dev, test=test)


recipe = Recipe(
    name="transliterate",
    summary="letters -> letters of another script (your tables)",
    load=load,
    task=PairTask(metrics=[EXACT], nbest=(1, 2, 3)),
    settings=FULL,
    synthesize=synthesize_words,
    small=dataclasses.replace(
        FULL,
        units=96,
        embedding=48,
        depth=1,
        dropout=0.1,
        batch_size=128,
        epochs=4,
        learning_rate=3e-3,
        warmup_steps=200,
    ),
)
