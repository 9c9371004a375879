"""Textual entailment: whether a hypothesis follows from a premise, by attention between their words.

    seqattn train entail --data snli --set pretrained_embeddings=glove.txt --set freeze_embeddings=true
    seqattn train entail --data sick --set extra_data=snli --set head_attention=none --set epochs=24
    seqattn train entail --data snli --set parser=parse
    seqattn train entail --data pairs.csv --set premise_column=text --set hypothesis_column=claim \\
        --set target_column=verdict

Data: SNLI, SICK, or a table. Encoder: words combined with their soft heads, which are the marginals of latent
dependency trees (Kim et al., 2017), without heads, or with the parent predicted by a parser. Network: decomposable
attention. Loss: cross-entropy of the labels. Metric: share of correct labels.
"""

import dataclasses
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.data.corpora import sick, snli
from seqattn_tf.training.data.finding import place
from seqattn_tf.training.recipes.base import Recipe, load_table
from seqattn_tf.training.tasks import EntailSettings, EntailTask, setting


@dataclasses.dataclass(frozen=True)
class EntailTableSettings(EntailSettings):
    """The settings of entailment, and the location of additional training pairs."""

    extra_data: str = setting("", "folder with SNLI; its training pairs are added to the training split")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.extra_data:  # absolute, because a run may be evaluated from another working folder
            object.__setattr__(self, "extra_data", place(self.extra_data))


FULL = EntailTableSettings(
    units=100,
    embedding=100,
    min_count=2,
    max_source_length=84,
    differences=True,
    dropout=0.1,
    batch_size=64,
    epochs=12,
    learning_rate=1e-3,
    warmup_steps=200,
)


def load(data: str | Path | None, settings: EntailTableSettings) -> Splits:
    """Load SICK, SNLI, or a table with columns of these names."""
    if sick.is_sick(data):
        found = sick.load(data)
    elif data is None or snli.is_snli(data):
        found = snli.load_labelled(data)
    else:
        columns = {"premise": settings.premise_column, "hypothesis": settings.hypothesis_column}
        found = load_table(data, columns, settings.target_column, settings)
    if not settings.extra_data:
        return found
    if strange := {example.target for example in found.train} - set(snli.LABELS):
        raise ValueError(
            f"extra_data: expected only the labels of SNLI in the training data. Received: {min(strange)!r}"
        )
    more = snli.load_labelled(settings.extra_data)
    return dataclasses.replace(found, train=[*found.train, *more.train], origin=f"{found.origin}, and {more.origin}")


recipe = Recipe(
    name="entail",
    summary="premise, hypothesis -> entailment, neutral or contradiction (SNLI, SICK, your tables)",
    load=load,
    task=EntailTask(),
    settings=FULL,
    small=dataclasses.replace(
        FULL, units=32, embedding=48, projection_units=0, compare_units=64, epochs=3, learning_rate=2e-3
    ),
)
