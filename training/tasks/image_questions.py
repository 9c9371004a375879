"""A task that maps a picture and a question to an answer."""

import dataclasses

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.encoders import BidirectionalEncoder
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.targets import Label
from seqattn_tf.models import ImageAnswerer, ImageAnswerNetwork
from seqattn_tf.training.data import Examples
from seqattn_tf.training.tasks.images import PICTURE, ImageSettings, ImageTask
from seqattn_tf.training.tasks.settings import setting

_QUESTION = "question"  # the name of the other input


@dataclasses.dataclass(frozen=True)
class ImageQuestionSettings(ImageSettings):
    """Settings of a network that answers questions about pictures."""

    use_attention: bool = setting(True, "let every word of the question attend to the image")
    question_units: int = setting(64, "units per direction of the question encoder")
    max_source_length: int = setting(40, "maximum words of a question")
    min_count: int = setting(1, "occurrences needed for a word to enter the vocabulary")
    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "question_units", "max_source_length", "min_count")


@dataclasses.dataclass(frozen=True)
class ImageQuestionTask(ImageTask[ImageQuestionSettings, ImageAnswerer]):
    """Training of an `ImageAnswerer`."""

    def build(self, settings: ImageQuestionSettings, train: Examples) -> ImageAnswerer:
        learned = Text.learn(train.inputs(_QUESTION), tokenizer="words", lowercase=True, min_count=settings.min_count)
        words = Text(dataclasses.replace(learned.rules, unknown=True), settings.max_source_length)
        target = Label.learn(train.targets)
        question = BidirectionalEncoder(
            words.rules.size,
            units=settings.question_units,
            embedding=settings.embedding,
            cell=settings.cell,
            dropout=settings.dropout,
            input_name=_QUESTION,
        )
        sizes = arguments_of(ImageAnswerNetwork, settings)
        network = ImageAnswerNetwork(settings.make_encoder(), question, target.size, **sizes)
        inputs = {PICTURE: settings.make_image(), _QUESTION: words}
        return ImageAnswerer(network, inputs, target)
