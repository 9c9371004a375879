"""Pronunciation: the phonemes of an English word from its letters.

    seqattn train pronounce                     # full size
    seqattn train pronounce --preset small      # minutes on two cores
    seqattn train pronounce --set stress=true   # marks stressed vowels: AA1 instead of AA

Data: the CMU pronouncing dictionary. Encoder: bidirectional LSTM over letters. Decoder: LSTM with additive attention.
Loss: cross-entropy of the phonemes. Metric: phoneme and word error rate, where any listed pronunciation is correct.
"""

import dataclasses

from seqattn_tf.training.data.corpora import cmudict
from seqattn_tf.training.metrics import ERRORS
from seqattn_tf.training.recipes.base import Recipe
from seqattn_tf.training.synthetic import synthesize_words
from seqattn_tf.training.tasks import PairSettings, PairTask, setting


@dataclasses.dataclass(frozen=True)
class _PronounceSettings(PairSettings):
    """The settings of an encoder-decoder from letters to phonemes."""

    stress: bool = setting(False, "keep the stress marks of vowels: AH0, AA1")


FULL = _PronounceSettings(lowercase=True, strip_accents=True, target_tokenizer="spaces")

recipe = Recipe(
    name="pronounce",
    summary="letters -> phonemes (CMUdict)",
    load=lambda data, settings: cmudict.load(data, settings.stress),
    task=PairTask(metrics=[ERRORS]),
    settings=FULL,
    synthesize=synthesize_words,
    small=dataclasses.replace(
        FULL,
        units=96,
        embedding=48,
        dropout=0.1,
        label_smoothing=0.0,
        batch_size=128,
        epochs=3,
        learning_rate=3e-3,
        warmup_steps=200,
    ),
)
