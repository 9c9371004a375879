"""A task that maps words to tags."""

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
from seqattn_tf.training.tasks.reading import FieldAndEncoder, WordSettings, check_places
from seqattn_tf.training.tasks.settings import setting


@dataclasses.dataclass(frozen=True)
class TagSettings(WordSettings):
    """Settings of a tagger."""

    output: str = setting("crf", "crf, or softmax for independent tags")
    scheme: str = setting("", "BIO or BIOES: allow only valid tag sequences")
    alternatives: int = setting(2, "additional tag sequences to return")
    tag_column: str = setting("-1", "column of the tags: -1 for the last, or a name such as upos")


@dataclasses.dataclass(frozen=True)
class TagTask(Task[TagSettings, Tagger]):
    """Training of a tagger."""

    metrics: Sequence[Metric] = (TAGS,)

    def build(self, settings: TagSettings, train: Examples) -> Tagger:
        reads, target = FieldAndEncoder.learn(settings, train.inputs("text")), ChainTags.learn(train.targets)
        network = TaggerNetwork(reads.encoder, target.tags, **arguments_of(TaggerNetwork, settings))
        return Tagger(reads.begin(network), {"text": reads.field}, target, **arguments_of(Tagger, settings))

    def learnable(self, model: Tagger, train: Examples) -> np.ndarray:
        """Exclude sequences of tags that the scheme forbids, because they have no probability."""
        scheme, tags = model.network.scheme, model.target
        if not scheme:
            return super().learnable(model, train)
        allowed = allowed_transitions(tags.tags, scheme)
        numbers = (tags.arrays(target)["tags"] - 1 for target in train.targets)
        return np.array([_keeps(allowed, found) for found in numbers], bool)

    def check(self, training: Training[TagSettings, Tagger]) -> None:
        """Check that there is a tag for each word."""
        check_places(training)

    def fast_variant(self, model: Tagger) -> Tagger:
        return model.with_settings(alternatives=0)


def _keeps(allowed: Allowed, tags: np.ndarray) -> bool:
    """Return whether the scheme allows a sequence of tags."""
    if not len(tags):
        return True
    inside = allowed.transitions[tags[:-1], tags[1:]].all()
    return bool(allowed.starts[tags[0]] and inside and allowed.ends[tags[-1]])
