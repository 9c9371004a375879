"""A task that maps a story and a question to an answer and the facts that lead to it."""

import dataclasses
from collections.abc import Mapping, Sequence

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.encoders import FactsEncoder
from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.fields import Lines, Text
from seqattn_tf.lite.targets import Label
from seqattn_tf.models import MemoryAnswerer, MemoryNetwork
from seqattn_tf.training.data import Example, Examples
from seqattn_tf.training.metrics import mean_tally
from seqattn_tf.training.tasks.base import Report, Task, Training
from seqattn_tf.training.tasks.reading import FieldAndEncoder, learn_field
from seqattn_tf.training.tasks.settings import TextSettings, TextTable, setting


@dataclasses.dataclass(frozen=True)
class AnswerSettings(TextTable, TextSettings):
    """Settings of a memory network, and of the table that it is trained on."""

    lowercase: bool = True
    max_source_length: int = 4000
    label_smoothing: float = 0.0
    hops: int = setting(3, "attention hops over the facts")
    attention_form: str = setting(
        "hops", "hops (each hop conditioned on the previous one), chain (a sequence of facts), or independent"
    )
    max_lines: int = setting(50, "read only the last N facts")
    max_line_length: int = setting(16, "words read per fact")
    linear_start_steps: int = setting(0, "initial training steps in which the hops omit their softmax")
    answer_from_last: bool = setting(True, "for a chain: answer from its last fact only")
    time_noise: float = setting(0.0, "probability of inserting an empty fact after a fact, in training")
    story_column: str = setting("story", "column or key of the story, one fact per line")
    question_column: str = setting("question", "column or key of the question")
    target_column: str = setting("answer", "column or key of the answer")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "hops", "max_lines", "max_line_length")
        self._refuse_less(0, "linear_start_steps")


@dataclasses.dataclass(frozen=True)
class AnswerTask(Task[AnswerSettings, MemoryAnswerer]):
    """Training of a `MemoryAnswerer`, with one vocabulary for stories and questions."""

    by_length: bool = False

    def build(self, settings: AnswerSettings, train: Examples) -> MemoryAnswerer:
        texts = [*train.inputs("story"), *train.inputs("question")]
        story, settings, vectors = learn_field(Lines, settings, "tokens", texts)
        target = Label.learn(train.targets)
        reads = FieldAndEncoder(story, FactsEncoder(**{**arguments_of(FactsEncoder, settings), **story.sizes}), vectors)
        network = reads.begin(MemoryNetwork(reads.encoder, target.size, **arguments_of(MemoryNetwork, settings)))
        return MemoryAnswerer(
            network, {"story": story, "question": Text(story.rules, settings.max_source_length)}, target
        )

    def check(self, training: Training[AnswerSettings, MemoryAnswerer]) -> None:
        """Raise an error if the linear start, without softmax, lasts for all of training."""
        settings, steps = training.settings, training.steps * training.settings.epochs
        if settings.linear_start_steps >= steps:
            raise ValueError(
                f"linear_start_steps: expected fewer than the {steps} training steps. "
                f"Received: {settings.linear_start_steps}"
            )

    def evaluate(
        self,
        model: MemoryAnswerer,
        found: Mapping[str, Answer],
        examples: Sequence[Example],
        notes: Mapping[str, str] | None = None,
    ) -> Report:
        """Return the accuracy of the answers and, if the supporting facts are known, that of the sequences of facts."""
        report = super().evaluate(model, found, examples, notes)
        looks = model.network.memory.hops
        if not notes or any(len(notes.get(example.key, "").split()) != looks for example in examples):
            return report  # the facts are unknown, or their number differs from the number of hops
        right = [" ".join(map(str, found[example.key].extra["facts"])) == notes[example.key] for example in examples]
        return report.and_tally(mean_tally({"facts": right}))
