"""Entailment generation: a sentence that follows from a premise (or contradicts it, or neither).

    seqattn train entail_generate --data snli
    seqattn train entail_generate --data snli --set conditioning=state        # the premise in the initial state alone
    seqattn train entail_generate --data snli --set conditioning=input        # and at every step

Data: SNLI. Encoder: bidirectional GRU over words. Decoder: GRU that gets the premise by attention, at every step, or in
its initial state. Loss: cross-entropy of the words. Metric: perplexity of the hypotheses.
"""

import dataclasses

from seqattn_tf.training.data.corpora import snli
from seqattn_tf.training.recipes.base import WORDS, Recipe
from seqattn_tf.training.tasks import PairSettings, PairTask, setting


@dataclasses.dataclass(frozen=True)
class EntailGenerateSettings(PairSettings):
    """The settings of an encoder-decoder, and the relation between the sentences of a pair."""

    label: str = setting("entailment", "label of the pairs to use: entailment, neutral, contradiction")


FULL = EntailGenerateSettings(
    **WORDS,
    min_count=3,
    dropout=0.5,
    batch_size=32,
    epochs=15,
    warmup_steps=200,
    max_source_length=120,
    max_target_length=60,
)

recipe = Recipe(
    name="entail_generate",
    summary="premise -> hypothesis (SNLI)",
    load=lambda data, settings: snli.load(data, settings.label),
    task=PairTask(),
    settings=FULL,
    small=dataclasses.replace(FULL, units=64, embedding=64, dropout=0.3, epochs=3, learning_rate=3e-3, warmup_steps=50),
)
