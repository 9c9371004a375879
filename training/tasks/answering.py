"""A story and a question to an answer, and to the facts that lead there."""

import dataclasses
from collections.abc import Mapping, Sequence

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.encoder import FactsEncoder
from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.fields import Lines, Text
from seqattn_tf.lite.targets import Label
from seqattn_tf.models import MemoryAnswerer, MemoryNetwork
from seqattn_tf.training.data import Example, Examples
from seqattn_tf.training.tasks.base import Report, Task, Training
from seqattn_tf.training.tasks.reading import Reads, learn_field
from seqattn_tf.training.tasks.settings import TextSettings, TextTable, setting


@dataclasses.dataclass(frozen=True)
class AnswerSettings(TextTable, TextSettings):
    """Settings of a memory network, and of a table of one's own that it learns from."""

    fold: str = "case"
    max_source: int = 4000
    label_smoothing: float = 0.0
    hops: int = setting(3, "looks at the facts")
    form: str = setting("hops", "each look after the last; or chain, a sequence of facts as one; or independent")
    lines: int = setting(50, "facts that are read, the last ones")
    line_length: int = setting(16, "words of a fact that are read")
    linear_steps: int = setting(0, "first steps of training in which the looks of hops go without their softmax")
    last: bool = setting(True, "of a chain, whether its last fact alone gives the answer, the others leading there")
    noise: float = setting(0.0, "how often a fact seems to be followed by one more, empty, in training")
    story: str = setting("story", "column or key of the story, a fact a line")
    question: str = setting("question", "column or key of the question")
    target: str = setting("answer", "column or key of the answer")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "hops", "lines", "line_length")
        self._refuse_less(0, "linear_steps")


@dataclasses.dataclass(frozen=True)
class AnswerTask(Task[AnswerSettings, MemoryAnswerer]):
    """Training of a `MemoryAnswerer`: one vocabulary for stories and questions."""

    by_length: bool = False

    def build(self, settings: AnswerSettings, train: Examples) -> MemoryAnswerer:
        """Vocabulary and answers of the training examples, and a network of their sizes."""
        texts = [*train.inputs("story"), *train.inputs("question")]
        story, settings, vectors = learn_field(Lines, settings, "tokens", texts)
        target = Label.learn(train.targets)
        reads = Reads(story, FactsEncoder(**{**arguments_of(FactsEncoder, settings), **story.sizes}), vectors)
        network = reads.begin(MemoryNetwork(reads.encoder, target.size, **arguments_of(MemoryNetwork, settings)))
        return MemoryAnswerer(network, {"story": story, "question": Text(story.rules, settings.max_source)}, target)

    def check(self, training: Training[AnswerSettings, MemoryAnswerer]) -> None:
        """Refuse a start without softmax that never ends."""
        settings, steps = training.settings, training.steps * training.settings.epochs
        if settings.linear_steps >= steps:
            raise ValueError(f"linear_steps: expected fewer than all {steps}. Received: {settings.linear_steps}")

    def judge(
        self,
        model: MemoryAnswerer,
        found: Mapping[str, Answer],
        examples: Sequence[Example],
        notes: Mapping[str, str] | None = None,
    ) -> Report:
        """The share of right answers and, where it is known which facts lead to them, of sequences of these facts."""
        report = super().judge(model, found, examples, notes)
        looks = model.network.memory.hops
        if not notes or any(len(notes.get(example.key, "").split()) != looks for example in examples):
            return report  # it is not known, or there are more or fewer facts than looks
        right = [" ".join(map(str, found[example.key].parts["facts"])) == notes[example.key] for example in examples]
        return Report({**report.figures, "facts": sum(right) / len(right)}, report.groups)
