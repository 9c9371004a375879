"""A picture and a question to an answer."""

import dataclasses

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.encoder import BidirectionalEncoder
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.targets import Label
from seqattn_tf.models import ImageAnswerer, ImageAnswerNetwork
from seqattn_tf.training.data import Examples
from seqattn_tf.training.tasks.seeing import PICTURE, SeeingSettings, SeeingTask
from seqattn_tf.training.tasks.settings import setting

_QUESTION = "question"  # the name of the other input


@dataclasses.dataclass(frozen=True)
class AskSettings(SeeingSettings):
    """Settings of what answers questions about pictures."""

    looks: bool = setting(True, "whether every word of the question looks at the picture")
    question_units: int = setting(64, "of each direction of what reads the question")
    max_source: int = setting(40, "words of a question, at most")
    min_count: int = setting(1, "how often a word is seen to be known")
    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "question_units", "max_source", "min_count")


@dataclasses.dataclass(frozen=True)
class AskTask(SeeingTask[AskSettings, ImageAnswerer]):
    """Training of an `ImageAnswerer`."""

    def build(self, settings: AskSettings, train: Examples) -> ImageAnswerer:
        """The words of the questions, the answers, and a network of their numbers."""
        learned = Text.learn(train.inputs(_QUESTION), split="words", fold="case", min_count=settings.min_count)
        words = Text(dataclasses.replace(learned.rules, unknown=True), settings.max_source)
        target = Label.learn(train.targets)
        question = BidirectionalEncoder(
            words.rules.size,
            units=settings.question_units,
            embedding=settings.embedding,
            cell=settings.cell,
            dropout=settings.dropout,
            reads=_QUESTION,
        )
        sizes = arguments_of(ImageAnswerNetwork, settings)
        network = ImageAnswerNetwork(settings.make_encoder(), question, target.size, **sizes)
        inputs = {PICTURE: settings.make_image(), _QUESTION: words}
        return ImageAnswerer(network, inputs, target)
