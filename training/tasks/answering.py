"""A story and a question to an answer, and to the facts that lead there."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from seqattn_tf.encoder import FactsEncoder
from seqattn_tf.fields import Lines, Text
from seqattn_tf.models import MemoryAnswerer, MemoryNetwork
from seqattn_tf.named import arguments_of
from seqattn_tf.targets import Label
from seqattn_tf.training.data import Example, Examples
from seqattn_tf.training.tasks.base import Report, Task, answer_all, parse_fold, refuse_few
from seqattn_tf.training.tasks.settings import TextSettings, setting
from seqattn_tf.training.vectors import read_vectors


@dataclasses.dataclass(frozen=True)
class AnswerSettings(TextSettings):
    """Settings of a memory network, and of a table of one's own that it learns from."""

    fold: str = "case"
    max_source: int = 4000
    label_smoothing: float = 0.0
    hops: int = setting(3, "looks at the facts")
    form: str = setting("hops", "each look after the last; or chain, a sequence of facts as one; or independent")
    lines: int = setting(50, "facts that are read, the last ones")
    line_length: int = setting(16, "words of a fact that are read")
    linear_steps: int = setting(0, "first steps of training in which the looks of hops go without their softmax")
    story: str = setting("story", "column or key of the story, a fact a line")
    question: str = setting("question", "column or key of the question")
    target: str = setting("answer", "column or key of the answer")
    split_column: str = setting("", "column of a single file that says train, dev or test; empty to split by a hash")
    test: str = setting("test", "what the name of the test files holds, where a folder has several")


@dataclasses.dataclass(frozen=True)
class AnswerTask(Task[AnswerSettings, MemoryAnswerer]):
    """Training of a `MemoryAnswerer`: one vocabulary for stories and questions."""

    by_length: bool = False

    def build(self, settings: AnswerSettings, train: Examples) -> MemoryAnswerer:
        """Vocabulary and answers of the training examples, and a network of their sizes."""
        texts = [*train.inputs("story"), *train.inputs("question")]
        limits: dict[str, Any] = {"vocabulary": settings.vocabulary, "min_count": settings.min_count}
        fold = parse_fold(settings.fold)
        learned = Lines.learn(texts, limit=settings.max_source, split="tokens", fold=fold, **limits)
        refuse_few(learned.rules, "vocabulary")
        story = learned.with_rules(dataclasses.replace(learned.rules, unknown=True))
        vectors = read_vectors(settings)
        if vectors is not None:
            story, settings = vectors.widen(story, settings)
        target = Label.learn(train.targets)
        encoder = FactsEncoder(**{**arguments_of(FactsEncoder, settings), **story.sizes})
        network = MemoryNetwork(encoder, target.size, **arguments_of(MemoryNetwork, settings))
        if vectors is not None:
            vectors.begin(network, story.rules)
        return MemoryAnswerer(network, {"story": story, "question": Text(story.rules, settings.max_source)}, target)

    def measure(
        self,
        model: MemoryAnswerer,
        examples: Sequence[Example],
        notes: Mapping[str, str] | None = None,
        quiet: bool = True,
    ) -> Report:
        """The share of right answers and, where it is known which facts lead to them, of sequences of these facts."""
        report = super().measure(model, examples, notes, quiet)
        if not notes or any(example.key not in notes for example in examples):
            return report
        found = answer_all(model, examples, quiet=True)
        right = [" ".join(map(str, found[example.key].parts["facts"])) == notes[example.key] for example in examples]
        return Report({**report.figures, "facts": sum(right) / len(right)}, report.groups)
