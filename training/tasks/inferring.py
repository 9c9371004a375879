"""A premise and a hypothesis to a label."""

import dataclasses

from seqattn_tf.models import Entailment, EntailmentNetwork
from seqattn_tf.named import arguments_of
from seqattn_tf.targets import Label
from seqattn_tf.training.data import Examples
from seqattn_tf.training.tasks.base import Task
from seqattn_tf.training.tasks.reading import ReadingSettings, Reads
from seqattn_tf.training.tasks.settings import TableSplit, setting


@dataclasses.dataclass(frozen=True)
class EntailSettings(TableSplit, ReadingSettings):
    """Settings of a network that compares two texts, and of a table of one's own that it learns from."""

    encoder: str = setting("heads", "words joined with their soft heads; or bidirectional, forward, ...")
    heads: str = setting("projective", "how heads are found: none, softmax, projective, spanning")
    width: int = setting(200, "numbers of a word after its embedding was projected; 0 for as many as that has")
    compare_units: int = setting(200, "width of the networks that compare")
    premise: str = setting("premise", "column or key of the premise")
    hypothesis: str = setting("hypothesis", "column or key of the hypothesis")
    target: str = setting("label", "column or key of the label")


@dataclasses.dataclass(frozen=True)
class EntailTask(Task[EntailSettings, Entailment]):
    """Training of an `Entailment`: one vocabulary and one encoder for both texts."""

    def build(self, settings: EntailSettings, train: Examples) -> Entailment:
        """Vocabulary and labels of the training examples, and a network of their sizes."""
        reads = Reads.learn(settings, [*train.inputs("premise"), *train.inputs("hypothesis")])
        target = Label.learn(train.targets)
        arguments = {**arguments_of(EntailmentNetwork, settings), "units": settings.compare_units}
        network = EntailmentNetwork(reads.encoder, target.size, **arguments)
        return Entailment(reads.begin(network), dict.fromkeys(("premise", "hypothesis"), reads.field), target)
