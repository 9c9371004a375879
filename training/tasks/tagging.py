"""Words to tags."""

import dataclasses
from collections.abc import Sequence

from seqattn_tf.models import Tagger, TaggerNetwork
from seqattn_tf.named import arguments_of
from seqattn_tf.targets import ChainTags
from seqattn_tf.training.data import Examples
from seqattn_tf.training.metrics import TAGS, Metric
from seqattn_tf.training.tasks.base import Task
from seqattn_tf.training.tasks.reading import ReadingSettings, Reads
from seqattn_tf.training.tasks.settings import setting


@dataclasses.dataclass(frozen=True)
class TagSettings(ReadingSettings):
    """Settings of a tagger."""

    output: str = setting("crf", "or softmax: every word for itself")
    scheme: str = setting("", "BIO or BIOES: only sequences of tags that the scheme allows")
    filters: int = setting(48, "numbers that stand for the spelling of a word")
    letter_embedding: int = setting(32, "numbers that stand for a letter")
    word_length: int = setting(16, "letters of a word that are read")
    alternatives: int = setting(2, "other sequences of tags beside the best")
    word: str = setting("0", "column of the words: its number, or its name in CoNLL-U")
    tag: str = setting("-1", "column of the tags: -1 for the last; or its name, as upos")


@dataclasses.dataclass(frozen=True)
class TagTask(Task[TagSettings, Tagger]):
    """Training of a tagger."""

    metrics: Sequence[Metric] = (TAGS,)

    def build(self, settings: TagSettings, train: Examples) -> Tagger:
        """Vocabularies and tags of the training sentences, and a network of their sizes."""
        reads, target = Reads.learn(settings, train), ChainTags.learn(train.targets)
        network = TaggerNetwork(reads.encoder, target.tags, **arguments_of(TaggerNetwork, settings))
        return Tagger(reads.begin(network), {"text": reads.field}, target, **arguments_of(Tagger, settings))

    def quick(self, model: Tagger) -> Tagger:
        """The same without alternatives."""
        return model.with_settings(alternatives=0)
