"""Toy tasks: a reader learns a sum, a comparison or a parity, a teller to sort, copy or recall; measured by length."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from seqattn_tf.core.registry import arguments_of
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.targets import Label, Number
from seqattn_tf.models import Reader, ReaderNetwork, Seq2Seq, Teller
from seqattn_tf.training.data import Example, Examples
from seqattn_tf.training.data.corpora import numbers, sequences
from seqattn_tf.training.tasks.base import Report, Task, loss_of
from seqattn_tf.training.tasks.settings import Settings, setting
from seqattn_tf.training.tasks.telling import NETWORKS, build_teller

TASKS = sorted({**numbers.TASKS, **sequences.TASKS})

# What solves a task at every length: one number that is added to, or gates that flip a state.
ADDS = {"units": 1, "embedding": 4, "cell": "rnn", "activation": "linear"}
FLIPS = {"units": 16, "embedding": 8, "cell": "gru"}
_SOLVES = {("auto", "sum"): ADDS, ("auto", "compare"): ADDS, ("auto", "parity"): FLIPS}  # by cell and task


@dataclasses.dataclass(frozen=True)
class NumberSettings(Settings):
    """Settings of a reader of numbers."""

    cell: str = setting(
        "auto", "a linear rnn of one unit to add up, a gru of 16 for parity, the memory cell; or a cell by name"
    )
    activation: str = setting("", "of a cell that is named; empty for its own")
    dropout: float = 0.0
    label_smoothing: float = 0.0
    task: str = setting("parity", "or sum, compare; or sort, copy, recall, which answer with what was read")
    longest: int = setting(10, "numbers, symbols or items of a training example, at most")
    examples: int = setting(20_000, "that are generated to learn from")
    max_source: int = setting(400, "numbers; a longer sequence is refused")
    network: str = setting("auto", "of sort, copy, recall: pointer to sort, else memory; or attention")
    once: bool = setting(True, "whether a pointer says a place at most once")
    slots: int = setting(64, "rows of the memory cell")
    width: int = setting(16, "numbers in a row of it")
    supervise: float = setting(0.0, "weight of the loss that tells attention where to look")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task not in TASKS:
            raise ValueError(f"task: expected one of {TASKS}. Received: {self.task!r}")
        if self.network not in ("auto", *NETWORKS):
            raise ValueError(f"network: expected one of {['auto', *NETWORKS]}. Received: {self.network!r}")
        self._refuse_less(1, "examples", "longest", "max_source", "slots", "width")
        self._refuse_less(0, "supervise")
        if self.task not in sequences.TASKS and (self.network != "auto" or self.supervise):
            raise ValueError(f"network, supervise: expected none for {self.task}, which is read. Received: some")

    def solving(self, sizes: Mapping[str, Any]) -> dict[str, Any]:
        """Of what solves a task by itself that which no setting says otherwise."""
        usual = {field.name: field.default for field in dataclasses.fields(self)}
        return {name: value for name, value in sizes.items() if name == "cell" or getattr(self, name) == usual[name]}


@dataclasses.dataclass(frozen=True)
class NumberTask(Task[NumberSettings, Reader | Teller | Seq2Seq]):
    """Training of a reader, of numbers where every target is one, else of labels; or of what tells a sequence.

    The best epoch is the one with the least loss on the development split, not the first whose answers are all right:
    an answer that is nearly right at twice the length is wrong at four times. All lengths are in every batch: the short
    ones show the rule, the long ones hold it to it.
    """

    by_length: bool = False
    monitor = "loss"
    higher_is_better = False

    def build(self, settings: NumberSettings, train: Examples) -> Reader | Teller | Seq2Seq:
        """Symbols and targets of the training examples, and a network of their sizes."""
        if settings.task in sequences.TASKS:
            return build_teller(settings, train)
        source = Text.learn(train.inputs("text"), split="spaces", limit=settings.max_source)
        whole = all(target.removeprefix("-").isdecimal() for target in train.targets)
        target = Number() if whole else Label.learn(train.targets)
        sizes = {
            **arguments_of(ReaderNetwork, settings),
            **settings.solving(_SOLVES.get((settings.cell, settings.task), {})),
        }
        return Reader(ReaderNetwork(source.rules.size, target.size, **sizes), {"text": source}, target)

    def measure(
        self,
        model: Reader | Teller | Seq2Seq,
        examples: Sequence[Example],
        notes: Mapping[str, str] | None = None,
        quiet: bool = True,
    ) -> Report:
        """How many answers are right, and the loss."""
        report = super().measure(model, examples, notes, quiet)
        return Report({**report.figures, "loss": loss_of(model, examples, batch_size=len(examples))[0]}, report.groups)
