"""A task that maps words to dependency trees."""

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
from seqattn_tf.training.tasks.reading import FieldAndEncoder, WordSettings, check_places
from seqattn_tf.training.tasks.settings import setting

_STRUCTURES = ("projective", "spanning")


@dataclasses.dataclass(frozen=True)
class ParseSettings(WordSettings):
    """Settings of a parser."""

    structure: str = setting("projective", "projective (no crossing arcs) or spanning (any tree)")
    arc_units: int = setting(200, "units of the head and dependent representations of a word")
    relation_units: int = setting(64, "units of its representations for relations")
    max_source_length: int = 100
    head_column: str = setting("head", "column of the heads")
    relation_column: str = setting("deprel", "column of the relations")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.structure not in _STRUCTURES:
            raise ValueError(f"structure: expected one of {_STRUCTURES}. Received: {self.structure!r}")


@dataclasses.dataclass(frozen=True)
class ParseTask(Task[ParseSettings, Parser]):
    """Training of a parser."""

    metrics: Sequence[Metric] = (ATTACHMENT,)

    def build(self, settings: ParseSettings, train: Examples) -> Parser:
        reads = FieldAndEncoder.learn(settings, train.inputs("text"))
        target = Tree.learn(train.targets, projective=settings.structure == "projective")
        network = ParserNetwork(reads.encoder, target.size, **arguments_of(ParserNetwork, settings))
        return Parser(reads.begin(network), {"text": reads.field}, target)

    def check(self, training: Training[ParseSettings, Parser]) -> None:
        """Check that there is a head for each word."""
        check_places(training)

    def learnable(self, model: Parser, train: Examples) -> np.ndarray:
        """Exclude trees that are not projective from projective training, because they have no probability."""
        if not model.target.projective:
            return super().learnable(model, train)
        return np.array([is_projective(model.target.arrays(target)["heads"]) for target in train.targets], bool)
