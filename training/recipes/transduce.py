"""An expression in, the same in another order out: which symbol comes next hangs on the tree, not on its neighbours.

    seqattn train transduce
    seqattn train transduce --set heads=softmax
    seqattn train transduce --set heads=none --set deepest=4

Data: generated expressions, operators before their operands -> between them, by depth. Encoder: symbols joined with
their soft heads (Kim et al., 2017). Decoder: LSTM with attention over them, which sees nothing else. Loss:
cross-entropy of the symbols. Metric: the share of the answer that is said before its first mistake, by depth.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import expressions
from seqattn_tf.training.metrics import BEGUN, begun_by
from seqattn_tf.training.recipes.base import Recipe, refuse_data
from seqattn_tf.training.tasks import PairSettings, PairTask, setting


@dataclasses.dataclass(frozen=True)
class TransduceSettings(PairSettings):
    """Settings, and how deep the expressions are."""

    heads: str = setting("projective", "how heads are found: none, softmax, projective, spanning")
    deepest: int = setting(6, "depth of an expression, at most; all from 2 on are learned from")
    examples: int = setting(15_000, "that are generated to learn from")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "examples")


FULL = TransduceSettings(
    encoder="heads",
    units=128,
    embedding=50,
    cell="lstm",
    source_split="spaces",
    target_split="spaces",
    dropout=0.1,
    label_smoothing=0.0,
    batch_size=32,
    epochs=20,
    learning_rate=2e-3,
    warmup_steps=200,
    max_source=80,
    max_target=100,
)


def _by_depth(answers: dict, references: dict, notes: dict) -> list[tuple[str, int, float]]:
    """How much is begun of expressions of each depth."""
    return begun_by(notes, answers, references) if notes else []


def load(data: str | Path | None, settings: TransduceSettings) -> Splits:
    """Generated expressions."""
    refuse_data(data)
    return expressions.load(settings.deepest, train=settings.examples, seed=settings.seed)


recipe = Recipe(
    name="transduce",
    summary="operators before operands -> between them (generated)",
    load=load,
    task=PairTask(metrics=[BEGUN], groups={"begun by depth": _by_depth}),
    settings=FULL,
    small=dataclasses.replace(FULL, units=48, embedding=32, deepest=3, examples=3_000, epochs=6, learning_rate=4e-3),
)
