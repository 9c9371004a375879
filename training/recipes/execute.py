"""Run a Python program by reading it: characters in, what it prints out.

    seqattn train execute
    seqattn train execute --set curriculum=naive --set length=4 --set nesting=2

Data: generated programs, in the order of a curriculum (baseline, naive, mix, combined). Encoder: bidirectional LSTM
over characters. Decoder: LSTM with additive attention. Loss: cross-entropy of the characters. Metric: how many outputs
are right to the last digit, by length of the numbers and nesting of the program.
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
    """Settings, and how difficult the programs are."""

    curriculum: str = setting("combined", "or baseline, naive, mix")
    length: int = setting(3, "digits of a number, at most")
    nesting: int = setting(3, "operations in one another, at most")
    programs: int = setting(3_200_000, "for the whole training, each read once")


FULL = ExecuteSettings(
    units=256,
    dropout=0.0,
    label_smoothing=0.0,
    batch_size=128,
    epochs=20,
    learning_rate=2e-3,
    max_source=200,
    max_target=20,
)


def by_difficulty(answers: dict, references: dict, notes: dict) -> list[tuple[str, int, float]]:
    """Accuracy of programs of each length and nesting."""
    return [(str(key), *row) for key, row in accuracy_by(notes, answers, references).items()] if notes else []


def load(data: str | Path | None, settings: ExecuteSettings) -> Splits:
    """Generated programs."""
    refuse_data(data)
    s = settings
    return programs.load(s.curriculum, s.length, s.nesting, train=s.programs, seed=s.seed)


recipe = Recipe(
    name="execute",
    summary="a Python program -> what it prints (generated)",
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
        programs=100_000,
        batch_size=64,
        epochs=4,
        learning_rate=3e-3,
        warmup_steps=100,
    ),
)
