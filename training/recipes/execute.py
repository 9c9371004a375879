"""Program execution: the output of a Python program from its characters.

    seqattn train execute
    seqattn train execute --set curriculum=naive --set length=4 --set nesting=2

Data: generated programs, in the order of a curriculum (baseline, naive, mix, combined). Encoder: bidirectional LSTM
over characters. Decoder: LSTM with additive attention. Loss: cross-entropy of the characters. Metric: share of exactly
correct outputs, by length of the numbers and nesting of the program.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import programs
from seqattn_tf.training.metrics import EXACT, accuracy_by
from seqattn_tf.training.recipes.base import Recipe, refuse_data
from seqattn_tf.training.tasks import PairSettings, PairTask, setting


@dataclasses.dataclass(frozen=True)
class ExecuteSettings(PairSettings):
    """The settings of an encoder-decoder, and the difficulty of the programs."""

    curriculum: str = setting("combined", "order of the programs: combined, baseline, naive, mix")
    length: int = setting(3, "maximum number of digits")
    nesting: int = setting(3, "maximum number of nested operations")
    num_programs: int = setting(3_200_000, "training programs; each is used once")


FULL = ExecuteSettings(
    units=256,
    dropout=0.0,
    label_smoothing=0.0,
    batch_size=128,
    epochs=20,
    learning_rate=2e-3,
    max_source_length=200,
    max_target_length=20,
)


def by_difficulty(answers: dict, references: dict, notes: dict) -> list[tuple[str, int, float]]:
    """Return the accuracy for programs of each length and nesting."""
    return [(str(key), *row) for key, row in accuracy_by(notes, answers, references).items()] if notes else []


def load(data: str | Path | None, settings: ExecuteSettings) -> Splits:
    """Load generated programs."""
    refuse_data(data)
    s = settings
    return programs.load(s.curriculum, s.length, s.nesting, train=s.num_programs, seed=s.seed)


recipe = Recipe(
    name="execute",
    summary="Python program -> its output (generated)",
    load=load,
    task=PairTask(
        metrics=[EXACT],
        groups={"accuracy by length and nesting": by_difficulty},
        ordered=True,
    ),
    settings=FULL,
    small=dataclasses.replace(
        FULL,
        units=96,
        embedding=32,
        length=2,
        nesting=1,
        num_programs=100_000,
        batch_size=64,
        epochs=4,
        learning_rate=3e-3,
        warmup_steps=100,
    ),
)
