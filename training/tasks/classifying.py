"""A task that maps texts to labels."""

import dataclasses
from collections.abc import Iterable, Sequence

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.lite.targets import Label
from seqattn_tf.lite.text.lines import split_lines
from seqattn_tf.models import Classifier, ClassifierNetwork
from seqattn_tf.training.data import Examples, Splits
from seqattn_tf.training.tasks.base import Task
from seqattn_tf.training.tasks.reading import FieldAndEncoder, ReadingSettings
from seqattn_tf.training.tasks.settings import TableColumns, setting


@dataclasses.dataclass(frozen=True)
class ClassifySettings(TableColumns, ReadingSettings):
    """Settings of a classifier, and of the table that it is trained on."""

    encoder: str = setting("bidirectional", "bidirectional, forward, document (words, then lines), tree, or a plug-in")
    pool: str = setting("attention", "pooling of the encoder outputs: last, average, attention")
    max_lines: int = setting(48, "read only the last N lines of a document")
    split_sentences: bool = setting(False, "start a new line at every sentence instead of at line breaks only")
    max_line_length: int = setting(48, "words read per line")
    composition: str = setting("binary", "composition of a tree: binary, child_sum, tensor")


@dataclasses.dataclass(frozen=True)
class ClassifyTask(Task[ClassifySettings, Classifier]):
    """Training of a classifier."""

    def build(self, settings: ClassifySettings, train: Examples, labels: Sequence[str] = ()) -> Classifier:
        """Build an untrained model. The given labels come first, followed by those of the training examples.

        If every training text has a single line, a flat encoder replaces a document encoder.
        """
        settings = _flat_for_lines(settings, train.inputs("text"))
        reads, target = FieldAndEncoder.learn(settings, train.inputs("text")), Label.learn(train.targets, labels)
        arguments = arguments_of(ClassifierNetwork, settings)
        if settings.encoder == "tree":
            arguments |= {"pool": "last", "everywhere": isinstance(train.targets[0], tuple)}
        network = ClassifierNetwork(reads.encoder, target.size, **arguments)
        return Classifier(reads.begin(network), {"text": reads.field}, target)

    def create_model(self, settings: ClassifySettings, splits: Splits) -> Classifier:
        """Create a model whose labels keep the order of the data, if that order means something."""
        return self.build(settings, Examples.of(splits.train), splits.labels)


def _flat_for_lines(settings: ClassifySettings, texts: Iterable[str]) -> ClassifySettings:
    """Replace a document encoder by a flat one if no text has several lines."""
    if settings.encoder != "document" or settings.split_sentences or any(len(split_lines(text)) > 1 for text in texts):
        return settings
    print("every training text has a single line; using encoder=bidirectional instead of encoder=document")
    return dataclasses.replace(settings, encoder="bidirectional")
