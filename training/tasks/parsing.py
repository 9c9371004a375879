"""Words to dependency trees."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.lite.targets import Tree
from seqattn_tf.lite.targets.tree import is_projective
from seqattn_tf.models import Parser, ParserNetwork
from seqattn_tf.training.data import Examples
from seqattn_tf.training.metrics import ATTACHMENT, Metric
from seqattn_tf.training.tasks.base import Task, Training
from seqattn_tf.training.tasks.reading import Reads, WordSettings, check_places
from seqattn_tf.training.tasks.settings import setting

_STRUCTURES = ("projective", "spanning")


@dataclasses.dataclass(frozen=True)
class ParseSettings(WordSettings):
    """Settings of a parser."""

    structure: str = setting("projective", "trees whose arcs do not cross; or spanning: any tree")
    arc_units: int = setting(200, "numbers that stand for a word as a head, and as a dependent")
    relation_units: int = setting(64, "the same for what relation they have")
    max_source: int = 100
    head: str = setting("head", "column of the heads")
    relation: str = setting("deprel", "column of the relations")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.structure not in _STRUCTURES:
            raise ValueError(f"structure: expected one of {_STRUCTURES}. Received: {self.structure!r}")


@dataclasses.dataclass(frozen=True)
class ParseTask(Task[ParseSettings, Parser]):
    """Training of a parser."""

    metrics: Sequence[Metric] = (ATTACHMENT,)

    def build(self, settings: ParseSettings, train: Examples) -> Parser:
        """Vocabularies and relations of the training sentences, and a network of their sizes."""
        reads = Reads.learn(settings, train.inputs("text"))
        target = Tree.learn(train.targets, projective=settings.structure == "projective")
        network = ParserNetwork(reads.encoder, target.size, **arguments_of(ParserNetwork, settings))
        return Parser(reads.begin(network), {"text": reads.field}, target)

    def check(self, training: Training[ParseSettings, Parser]) -> None:
        """Whether there is a head for each word."""
        check_places(training)

    def learnable(self, model: Parser, train: Examples) -> np.ndarray:
        """Of projective trees those alone: the others have no probability to learn."""
        if not model.target.projective:
            return super().learnable(model, train)
        return np.array([is_projective(model.target.arrays(target)["heads"]) for target in train.targets], bool)
