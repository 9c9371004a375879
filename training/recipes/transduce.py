"""Transduction of expressions to another order, where the next symbol depends on the tree and not on its neighbors.

    seqattn train transduce
    seqattn train transduce --set head_attention=softmax
    seqattn train transduce --set head_attention=none --set max_depth=4

Data: generated expressions, from prefix to infix notation, by depth. Encoder: symbols combined with their soft heads
(Kim et al., 2017). Decoder: LSTM whose only input from the encoder is attention. Loss: cross-entropy of the symbols.
Metric: the share of the answer before its first mistake, by depth.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import expressions
from seqattn_tf.training.metrics import PREFIX_ACCURACY, prefix_accuracy_by
from seqattn_tf.training.recipes.base import Recipe, refuse_data
from seqattn_tf.training.tasks import PairSettings, PairTask, setting


@dataclasses.dataclass(frozen=True)
class _TransduceSettings(PairSettings):
    """The settings of an encoder-decoder, and the depth of the expressions."""

    head_attention: str = setting("projective", "how heads are chosen: none, softmax, projective, spanning")
    max_depth: int = setting(6, "maximum depth of an expression; training uses depths from 2 up to this")
    num_examples: int = setting(15_000, "generated training expressions")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "num_examples")


FULL = _TransduceSettings(
    encoder="heads",
    units=128,
    embedding=50,
    cell="lstm",
    source_tokenizer="spaces",
    target_tokenizer="spaces",
    dropout=0.1,
    label_smoothing=0.0,
    batch_size=32,
    epochs=20,
    learning_rate=2e-3,
    warmup_steps=200,
    max_source_length=80,
    max_target_length=100,
)


def _by_depth(answers: dict, references: dict, notes: dict) -> list[tuple[str, int, float]]:
    """Return the prefix accuracy for expressions of each depth."""
    return prefix_accuracy_by(notes, answers, references) if notes else []


def load(data: str | Path | None, settings: _TransduceSettings) -> Splits:
    """Load generated expressions."""
    refuse_data(data)
    return expressions.load(settings.max_depth, train=settings.num_examples, seed=settings.seed)


recipe = Recipe(
    name="transduce",
    summary="prefix -> infix expressions (generated)",
    load=load,
    task=PairTask(metrics=[PREFIX_ACCURACY], groups={"prefix accuracy by depth": _by_depth}),
    settings=FULL,
    small=dataclasses.replace(
        FULL, units=48, embedding=32, max_depth=3, num_examples=3_000, epochs=6, learning_rate=4e-3
    ),
)
