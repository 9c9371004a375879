"""Question answering over a story, with the supporting facts in order.

    seqattn train answer --data babi --set task=2 --set hops=2 --set linear_start_steps=560
    seqattn train answer --data babi --set task=2 --set hops=2 --set attention_form=chain
    seqattn train answer --data faq.jsonl --set story_column=text --set question_column=asked --set target_column=answer

Data: one of the bAbI tasks, or a table. Network: end-to-end memory network (Sukhbaatar et al., 2015), or a chain over
all sequences of facts (Kim et al., 2017). Loss: cross-entropy of the answers. Metric: share of correct answers; for
bAbI also of correct sequences of facts.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import babi
from seqattn_tf.training.recipes.base import Recipe, load_table
from seqattn_tf.training.tasks import AnswerSettings, AnswerTask, setting


@dataclasses.dataclass(frozen=True)
class _StorySettings(AnswerSettings):
    """The settings of question answering, and the bAbI task."""

    task: int = setting(1, "bAbI task, from 1 to 20")


FULL = _StorySettings(
    units=32,
    embedding=32,
    dropout=0.1,
    time_noise=0.1,
    batch_size=32,
    epochs=100,
    patience=100,
    learning_rate=1e-2,
    warmup_steps=100,
    clip_norm=5.0,
)


def load(data: str | Path | None, settings: _StorySettings) -> Splits:
    """Load a bAbI task or a table."""
    if data is None or babi.is_babi(data):
        return babi.load(data, settings.task)
    columns = {"story": settings.story_column, "question": settings.question_column}
    return load_table(data, columns, settings.target_column, settings)


recipe = Recipe(
    name="answer",
    summary="story, question -> answer (bAbI, your tables)",
    load=load,
    task=AnswerTask(),
    settings=FULL,
    small=dataclasses.replace(FULL, epochs=20),
)
