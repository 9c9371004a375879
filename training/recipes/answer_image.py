"""Visual question answering: an answer to a question about an image, with attention maps.

    seqattn train answer_image
    seqattn train answer_image --set use_attention=false
    seqattn explain runs/answer_image image=@picture.png question="how many red shapes are there ?" -o looks.png

Data: generated scenes of colored shapes with questions of six kinds. Encoders: a convolutional network for the image, a
bidirectional GRU for the question. Network: every word of the question attends to the feature map; without attention,
the whole map is combined with the question. Loss: cross-entropy of the answers. Metric: share of correct answers, by
kind of question.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import scenes
from seqattn_tf.training.metrics import accuracy_by
from seqattn_tf.training.recipes.base import Recipe, refuse_data
from seqattn_tf.training.tasks import ImageQuestionSettings, ImageQuestionTask, setting


@dataclasses.dataclass(frozen=True)
class _SceneSettings(ImageQuestionSettings):
    """The settings of visual question answering, and the number of generated questions."""

    num_examples: int = setting(40_000, "generated training questions, each about its own scene")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "num_examples")


FULL = _SceneSettings(
    units=128,
    embedding=32,
    cell="gru",
    dropout=0.1,
    batch_size=64,
    epochs=15,
    learning_rate=2e-3,
    warmup_steps=200,
)


def load(data: str | Path | None, settings: _SceneSettings) -> Splits:
    """Load questions about generated scenes."""
    refuse_data(data)
    return scenes.load_questions(settings.num_examples, seed=settings.seed)


def _by_kind(answers: dict, references: dict, notes: dict) -> list[tuple[str, int, float]]:
    """Return the accuracy for each kind of question."""
    return [(str(key), *row) for key, row in accuracy_by(notes, answers, references).items()] if notes else []


recipe = Recipe(
    name="answer_image",
    summary="image, question -> answer (generated scenes)",
    load=load,
    task=ImageQuestionTask(
        groups={"accuracy by kind": _by_kind}, by_length=False
    ),  # sorted by length, a batch would contain questions of one kind
    settings=FULL,
    small=dataclasses.replace(FULL, units=64, filters="16 32 64", num_examples=8_000, epochs=8),
)
