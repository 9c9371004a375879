"""A story and a question in, the answer out, with the facts that led there in their order.

    seqattn train answer --data babi --set task=2 --set hops=2 --set linear_steps=560
    seqattn train answer --data babi --set task=2 --set hops=2 --set form=chain
    seqattn train answer --data faq.jsonl --set story=text --set question=asked --set target=answer

Data: bAbI, one of its tasks; or a table. Network: end-to-end memory network (Sukhbaatar et al., 2015), or a chain over
all sequences of facts (Kim et al., 2017). Loss: cross-entropy of the answers. Metric: share of right answers; of bAbI
also of right sequences of facts.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import babi
from seqattn_tf.training.recipes.base import Recipe, load_table
from seqattn_tf.training.tasks import AnswerSettings, AnswerTask, setting


@dataclasses.dataclass(frozen=True)
class StorySettings(AnswerSettings):
    """Settings, and which task of bAbI."""

    task: int = setting(1, "of bAbI, from 1 to 20")


FULL = StorySettings(
    units=32,
    embedding=32,
    dropout=0.1,
    noise=0.1,
    batch_size=32,
    epochs=100,
    patience=100,
    learning_rate=1e-2,
    warmup_steps=100,
    clip_norm=5.0,
)


def load(data: str | Path | None, settings: StorySettings) -> Splits:
    """A task of bAbI, or a table."""
    if data is None or babi.is_babi(data):
        return babi.load(data, settings.task)
    columns = {"story": settings.story, "question": settings.question}
    return load_table(data, columns, settings.target, settings)


recipe = Recipe(
    name="answer",
    summary="story, question -> answer (bAbI, own tables)",
    load=load,
    task=AnswerTask(),
    settings=FULL,
    small=dataclasses.replace(FULL, epochs=20),
)
