"""Translation of sentences to another language.

    seqattn train translate --data multi30k --set text_column=de --set target_column=en --set test=test_2016
    seqattn train translate --data enja --set text_column=ja --set target_column=en --set source_tokenizer=letters \\
        --set target_tokenizer=spaces --set min_count=2 --set vocabulary=0 --set align=crf

Data: a CSV, TSV or JSONL file, a folder of them or of parallel text (`train.de`, ...), or `tfds:NAME`. Encoder:
bidirectional GRU over characters, words or subwords learned from the training data. Decoder: GRU with additive
attention and any alignment; `conditioning=state` has no attention. Loss: cross-entropy of the symbols. Metric: BLEU and
chrF; BLEU also by length.
"""

import dataclasses

from seqattn_tf.training.metrics import BLEU, CHRF, bleu_by_length
from seqattn_tf.training.recipes.base import Recipe, load_pairs
from seqattn_tf.training.tasks import PairTask, TableSettings

_EDGES = (5, 10, 15, 20, 30, 40)  # upper limits of the length groups for BLEU: words, or letters without spaces
FULL = TableSettings(
    text_column="de",
    target_column="en",
    source_tokenizer="subwords",
    target_tokenizer="subwords",
    vocabulary=6000,
    units=320,
    embedding=256,
    cell="gru",
    dropout=0.4,
    batch_size=128,
    epochs=20,
    learning_rate=1.5e-3,
    max_source_length=200,
    max_target_length=100,
    beam_width=5,
    alternatives=2,
    length_penalty=1.0,
)


def by_length(answers: dict, references: dict, notes: dict) -> list[tuple[str, int, float]]:
    """Return the BLEU score for each group of sentences of similar length."""
    spaced = any(" " in source for source in references)
    lengths = {source: len(source.split() if spaced else source) for source in references}
    return bleu_by_length(lengths, answers, references, _EDGES)


recipe = Recipe(
    name="translate",
    summary="sentence -> translation (parallel text, your tables)",
    load=load_pairs,
    task=PairTask(metrics=[BLEU, CHRF], groups={"BLEU by length of the source": by_length}),
    settings=FULL,
    small=dataclasses.replace(
        FULL,
        vocabulary=1000,
        units=96,
        embedding=64,
        dropout=0.1,
        batch_size=64,
        epochs=4,
        learning_rate=3e-3,
        warmup_steps=200,
    ),
)
