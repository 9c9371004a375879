"""Toy tasks: a classifier learns a sum, a comparison or a parity; a rearranger sorts, copies or recalls."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.encoders import ForwardEncoder
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.targets import Label, Number
from seqattn_tf.models import Classifier, ClassifierNetwork, Rearranger, Seq2Seq
from seqattn_tf.training.data import Example, Examples
from seqattn_tf.training.data.corpora import numbers, sequences
from seqattn_tf.training.metrics import Tally
from seqattn_tf.training.tasks.base import Report, Task, losses_of
from seqattn_tf.training.tasks.rearranging import NETWORKS, build_teller
from seqattn_tf.training.tasks.settings import Settings, setting

TASKS = sorted({**numbers.TASKS, **sequences.TASKS})

# Networks that solve a task at every length: a single unit that accumulates a sum, or gates that flip a state.
ADDS = {"units": 1, "embedding": 4, "cell": "rnn", "activation": "linear"}
FLIPS = {"units": 16, "embedding": 8, "cell": "gru"}
_SOLVES = {("auto", "sum"): ADDS, ("auto", "compare"): ADDS, ("auto", "parity"): FLIPS}  # by cell and task


@dataclasses.dataclass(frozen=True)
class NumberSettings(Settings):
    """Settings of a toy task."""

    cell: str = setting(
        "auto", "auto (linear rnn of one unit for sum, gru of 16 for parity, memory cell), or the name of a cell"
    )
    activation: str = setting("", "activation of a named cell; empty for the cell's default")
    dropout: float = 0.0
    label_smoothing: float = 0.0
    task: str = setting("parity", "parity, sum, compare; or sort, copy, recall, whose answers are sequences")
    max_length: int = setting(10, "maximum length of a training example")
    num_examples: int = setting(20_000, "generated training examples")
    max_source_length: int = setting(400, "maximum length of a sequence; a longer one is an error")
    network: str = setting(
        "auto", "for sort, copy, recall: auto (pointer for sort, otherwise memory), pointer, memory, attention"
    )
    point_once: bool = setting(True, "let a pointer choose each position at most once")
    memory_slots: int = setting(64, "slots (rows) of the memory cell")
    memory_width: int = setting(16, "width of a memory slot")
    attention_supervision: float = setting(0.0, "weight of the loss that supervises attention")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task not in TASKS:
            raise ValueError(f"task: expected one of {TASKS}. Received: {self.task!r}")
        if self.network not in ("auto", *NETWORKS):
            raise ValueError(f"network: expected one of {['auto', *NETWORKS]}. Received: {self.network!r}")
        self._refuse_less(1, "num_examples", "max_length", "max_source_length", "memory_slots", "memory_width")
        self._refuse_less(0, "attention_supervision")
        if self.task not in sequences.TASKS and (self.network != "auto" or self.attention_supervision):
            raise ValueError(
                f"network, attention_supervision: expected the defaults for {self.task}, which predicts one number. "
                "Received: other values"
            )

    def solving(self, sizes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given cell and those of the given sizes that the user has not set."""
        usual = {field.name: field.default for field in dataclasses.fields(self)}
        return {name: value for name, value in sizes.items() if name == "cell" or getattr(self, name) == usual[name]}


@dataclasses.dataclass(frozen=True)
class NumberTask(Task[NumberSettings, Classifier | Rearranger | Seq2Seq]):
    """Training of a classifier or of a model whose answer is a sequence.

    A classifier predicts numbers if every target is a number, and labels otherwise. The best epoch is the one with the
    lowest loss on the development split, not the first one with only correct answers: an answer that is nearly correct
    at twice the length is wrong at four times. Every batch contains all lengths: the short ones show the rule, and the
    long ones enforce it.
    """

    by_length: bool = False
    monitor = "loss"
    higher_is_better = False

    def build(self, settings: NumberSettings, train: Examples) -> Classifier | Rearranger | Seq2Seq:
        if settings.task in sequences.TASKS:
            return build_teller(settings, train)
        source = Text.learn(train.inputs("text"), tokenizer="spaces", limit=settings.max_source_length)
        whole = all(target.removeprefix("-").isdecimal() for target in train.targets)
        target = Number() if whole else Label.learn(train.targets)
        solving = settings.solving(_SOLVES.get((settings.cell, settings.task), {}))
        encoder = ForwardEncoder(source.rules.size, **{**arguments_of(ForwardEncoder, settings), **solving})
        network = ClassifierNetwork(encoder, target.size, dropout=settings.dropout)
        return Classifier(network, {"text": source}, target)

    def measure(
        self,
        model: Classifier | Rearranger | Seq2Seq,
        examples: Sequence[Example],
        notes: Mapping[str, str] | None = None,
        quiet: bool = True,
    ) -> Report:
        """Return the share of correct answers, and the loss."""
        report = super().measure(model, examples, notes, quiet)
        counts = losses_of(model, examples, batch_size=len(examples))
        return report.and_tally(Tally(counts, lambda sums: {"loss": float(sums[0] / max(sums[1], 1))}))
