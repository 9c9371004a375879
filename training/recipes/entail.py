"""A premise and a hypothesis in, whether the one follows from the other out, by words that look at words.

    seqattn train entail --data snli --set vectors=glove.txt --set fixed_vectors=true
    seqattn train entail --data sick --set more=snli --set heads=none --set epochs=24
    seqattn train entail --data snli --set parser=parse
    seqattn train entail --data pairs.csv --set premise=text --set hypothesis=claim --set target=verdict

Data: SNLI, SICK, or a table. Encoder: words joined with their soft heads, the marginals of dependency trees that
nobody has annotated (Kim et al., 2017), or of none; or with the parent that a parser gives each. Network: decomposable
attention. Loss: cross-entropy of the labels. Metric: share of right labels.
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
    """Settings, and where more pairs to learn from are."""

    more: str = setting("", "a folder with SNLI, whose training pairs are learned from, too")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.more:  # a run is measured from other places, too
            object.__setattr__(self, "more", place(self.more))


FULL = EntailTableSettings(
    units=100,
    embedding=100,
    min_count=2,
    max_source=84,
    differences=True,
    dropout=0.1,
    batch_size=64,
    epochs=12,
    learning_rate=1e-3,
    warmup_steps=200,
)


def load(data: str | Path | None, settings: EntailTableSettings) -> Splits:
    """SICK, a table with columns of these names, or SNLI."""
    if sick.is_sick(data):
        found = sick.load(data)
    elif data is None or snli.is_snli(data):
        found = snli.load_labelled(data)
    else:
        columns = {"premise": settings.premise, "hypothesis": settings.hypothesis}
        found = load_table(data, columns, settings.target, settings)
    if not settings.more:
        return found
    if strange := {example.target for example in found.train} - set(snli.LABELS):
        raise ValueError(f"more: expected labels as those of SNLI. Received: {min(strange)!r} beside them")
    more = snli.load_labelled(settings.more)
    return dataclasses.replace(found, train=[*found.train, *more.train], origin=f"{found.origin}, and {more.origin}")


recipe = Recipe(
    name="entail",
    summary="premise, hypothesis -> entailment, neutral or contradiction (SNLI, SICK, own tables)",
    load=load,
    task=EntailTask(),
    settings=FULL,
    small=dataclasses.replace(FULL, units=32, embedding=48, width=0, compare_units=64, epochs=3, learning_rate=2e-3),
)
