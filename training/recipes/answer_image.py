"""A picture and a question in, an answer out, with what was looked at on the way.

    seqattn train answer_image
    seqattn train answer_image --set looks=false
    seqattn explain runs/answer_image image=@picture.png question="how many red shapes are there ?" -o looks.png

Data: generated scenes of coloured shapes with questions of six kinds. Encoders: a convolutional network for the
picture, a bidirectional GRU for the question. Network: every word of the question looks at the map; without looks, the
whole map beside the question. Loss: cross-entropy of the answers. Metric: share of right answers, by kind.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import scenes
from seqattn_tf.training.metrics import accuracy_by
from seqattn_tf.training.recipes.base import Recipe, refuse_data
from seqattn_tf.training.tasks import AskSettings, AskTask, setting


@dataclasses.dataclass(frozen=True)
class SceneSettings(AskSettings):
    """Settings, and how many questions are asked."""

    examples: int = setting(40_000, "questions that are asked to learn from, each about a scene of its own")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "examples")


FULL = SceneSettings(
    units=128,
    embedding=32,
    cell="gru",
    dropout=0.1,
    batch_size=64,
    epochs=15,
    learning_rate=2e-3,
    warmup_steps=200,
)


def load(data: str | Path | None, settings: SceneSettings) -> Splits:
    """Questions about generated scenes."""
    refuse_data(data)
    return scenes.load_questions(settings.examples, seed=settings.seed)


def _by_kind(answers: dict, references: dict, notes: dict) -> list[tuple[str, int, float]]:
    """Accuracy of each kind of question."""
    return [(str(key), *row) for key, row in accuracy_by(notes, answers, references).items()] if notes else []


recipe = Recipe(
    name="answer_image",
    summary="picture, question -> answer (generated scenes)",
    load=load,
    task=AskTask(groups={"accuracy by kind": _by_kind}, by_length=False),  # else a batch has questions of one kind
    settings=FULL,
    small=dataclasses.replace(FULL, units=64, filters="16 32 64", examples=8_000, epochs=8),
)
