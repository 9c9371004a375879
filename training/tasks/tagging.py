"""Words to tags."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.lite.targets import ChainTags
from seqattn_tf.models import Tagger, TaggerNetwork
from seqattn_tf.structured.tags import Allowed, allowed_transitions
from seqattn_tf.training.data import Examples
from seqattn_tf.training.metrics import TAGS, Metric
from seqattn_tf.training.tasks.base import Task, Training
from seqattn_tf.training.tasks.reading import Reads, WordSettings, check_places
from seqattn_tf.training.tasks.settings import setting


@dataclasses.dataclass(frozen=True)
class TagSettings(WordSettings):
    """Settings of a tagger."""

    output: str = setting("crf", "or softmax: every word for itself")
    scheme: str = setting("", "BIO or BIOES: only sequences of tags that the scheme allows")
    alternatives: int = setting(2, "other sequences of tags beside the best")
    tag: str = setting("-1", "column of the tags: -1 for the last; or its name, as upos")


@dataclasses.dataclass(frozen=True)
class TagTask(Task[TagSettings, Tagger]):
    """Training of a tagger."""

    metrics: Sequence[Metric] = (TAGS,)

    def build(self, settings: TagSettings, train: Examples) -> Tagger:
        """Vocabularies and tags of the training sentences, and a network of their sizes."""
        reads, target = Reads.learn(settings, train.inputs("text")), ChainTags.learn(train.targets)
        network = TaggerNetwork(reads.encoder, target.tags, **arguments_of(TaggerNetwork, settings))
        return Tagger(reads.begin(network), {"text": reads.field}, target, **arguments_of(Tagger, settings))

    def learnable(self, model: Tagger, train: Examples) -> np.ndarray:
        """Of a scheme, what it allows: anything else has no probability to learn."""
        scheme, tags = model.network.scheme, model.target
        if not scheme:
            return super().learnable(model, train)
        allowed = allowed_transitions(tags.tags, scheme)
        numbers = (tags.arrays(target)["tags"] - 1 for target in train.targets)
        return np.array([_keeps(allowed, found) for found in numbers], bool)

    def check(self, training: Training[TagSettings, Tagger]) -> None:
        """Whether there is a tag for each word."""
        check_places(training)

    def quick(self, model: Tagger) -> Tagger:
        """The same without alternatives."""
        return model.with_settings(alternatives=0)


def _keeps(allowed: Allowed, tags: np.ndarray) -> bool:
    """Whether a sequence of tags is one that a scheme allows."""
    if not len(tags):
        return True
    inside = allowed.transitions[tags[:-1], tags[1:]].all()
    return bool(allowed.starts[tags[0]] and inside and allowed.ends[tags[-1]])
