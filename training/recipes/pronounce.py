"""Letters in, phonemes out: how an English word is spoken.

    seqattn train pronounce                     # full size
    seqattn train pronounce --preset small      # minutes on two cores
    seqattn train pronounce --set stress=true   # AA1, not AA: which vowels are stressed

Data: the CMU pronouncing dictionary. Encoder: bidirectional LSTM over letters. Decoder: LSTM with additive attention.
Loss: cross-entropy of the phonemes. Metric: phoneme and word error rate, any listed pronunciation being right.
"""

import dataclasses

from seqattn_tf.training.data.corpora import cmudict
from seqattn_tf.training.made_up import make_up_words
from seqattn_tf.training.metrics import ERRORS
from seqattn_tf.training.recipes.base import Recipe
from seqattn_tf.training.tasks import PairSettings, PairTask, setting


@dataclasses.dataclass(frozen=True)
class PronounceSettings(PairSettings):
    """Settings of an encoder-decoder from letters to phonemes."""

    stress: bool = setting(False, "whether the vowels keep their marks of stress: AH0, AA1")


FULL = PronounceSettings(fold="all", target_split="spaces")

recipe = Recipe(
    name="pronounce",
    summary="letters -> phonemes (CMUdict)",
    load=lambda data, settings: cmudict.load(data, settings.stress),
    task=PairTask(metrics=[ERRORS]),
    settings=FULL,
    make_up=make_up_words,
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
