"""Texts to labels."""

import dataclasses
from collections.abc import Iterable, Sequence

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.lite.targets import Label
from seqattn_tf.lite.text.lines import split_lines
from seqattn_tf.models import Classifier, ClassifierNetwork
from seqattn_tf.training.data import Examples, Splits
from seqattn_tf.training.tasks.base import Task
from seqattn_tf.training.tasks.reading import ReadingSettings, Reads
from seqattn_tf.training.tasks.settings import TableColumns, setting


@dataclasses.dataclass(frozen=True)
class ClassifySettings(TableColumns, ReadingSettings):
    """Settings of a classifier, and of a table of one's own that it learns from."""

    encoder: str = setting("bidirectional", "or forward, document (words, then lines), tree, or one of a plug-in")
    pool: str = setting("attention", "what makes one vector of all that was read: last, average, attention")
    lines: int = setting(48, "of a document that are read, the last ones")
    sentences: bool = setting(False, "whether every sentence of a document is a line, or line breaks alone make lines")
    line_length: int = setting(48, "words of a line that are read")
    composition: str = setting("binary", "of a tree: binary, child_sum or tensor")


@dataclasses.dataclass(frozen=True)
class ClassifyTask(Task[ClassifySettings, Classifier]):
    """Training of a classifier."""

    def build(self, settings: ClassifySettings, train: Examples, labels: Sequence[str] = ()) -> Classifier:
        """Vocabulary and labels of the training examples, those given first, and a network of their sizes.

        Where every training text has one line, a flat encoder reads them instead of one of documents.
        """
        settings = _flat_for_lines(settings, train.inputs("text"))
        reads, target = Reads.learn(settings, train.inputs("text")), Label.learn(train.targets, labels)
        arguments = arguments_of(ClassifierNetwork, settings)
        if settings.encoder == "tree":
            arguments |= {"pool": "last", "everywhere": isinstance(train.targets[0], tuple)}
        network = ClassifierNetwork(reads.encoder, target.size, **arguments)
        return Classifier(reads.begin(network), {"text": reads.field}, target)

    def begin(self, settings: ClassifySettings, splits: Splits) -> Classifier:
        """Labels in the order of the data, where that means something."""
        return self.build(settings, Examples.of(splits.train), splits.labels)


def _flat_for_lines(settings: ClassifySettings, texts: Iterable[str]) -> ClassifySettings:
    """The settings, with a flat encoder where there are no documents of several lines to read."""
    if settings.encoder != "document" or settings.sentences or any(len(split_lines(text)) > 1 for text in texts):
        return settings
    print("every training text has one line: encoder=bidirectional instead of encoder=document")
    return dataclasses.replace(settings, encoder="bidirectional")
