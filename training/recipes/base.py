"""What a recipe is: the choices of one application, as data."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic

from seqattn_tf.core.registry import RegisteredObject
from seqattn_tf.plugins import holding, needed_by
from seqattn_tf.training.data import Splits, files, pictures
from seqattn_tf.training.tasks import Task
from seqattn_tf.training.tasks.base import AnySettings
from seqattn_tf.training.tasks.settings import TableColumns, TableSplit, TextTable

MakeUp = Callable[[Splits, int, int], list[Mapping[str, Any]]]  # how many, and a seed, to rows of inputs by name
WORDS: dict[str, Any] = {  # settings of an encoder-decoder over the words of raw text, where there are not many
    "source_split": "words",
    "target_split": "words",
    "fold": "all",
    "units": 256,
    "embedding": 128,
    "cell": "gru",
    "learning_rate": 1e-3,
    "beam_width": 5,
    "alternatives": 2,
    "length_penalty": 1.0,
}


def refuse_data(data: str | Path | None) -> None:
    """Of a recipe that makes its own data."""
    if data is not None:
        raise ValueError(f"data: expected none, this recipe generates its own. Received: {data}")


def load_pairs(data: str | Path | None, settings: TableColumns) -> Splits:
    """Pairs of one's own: a file or a folder, in which `text` and `target` name the columns (see `data.files`)."""
    return load_table(data, {"text": settings.text}, settings.target, settings)


def load_table(data: str | Path | None, columns: Mapping[str, str], target: str, settings: TextTable) -> Splits:
    """Examples of one's own, with a column for each input and one for the target, split as the settings say."""
    split = {"test": settings.test, "split_column": settings.split_column}
    return files.load(data, columns, target, **split, stream=settings.stream)


def load_files(data: str | Path, kind: str, file: str, target: str, settings: TableSplit) -> Splits:
    """Pictures, clips or sounds of one's own beside a table, with a column for the file and one for the target."""
    return pictures.load(data, file, target, kind=kind, test=settings.test, split_column=settings.split_column)


@dataclasses.dataclass(frozen=True)
class Recipe(RegisteredObject, Generic[AnySettings]):
    """One application: its data, the kind of training, and its settings; found by its name once it is made."""

    made: ClassVar[dict[str, Any]] = {}
    name: str
    summary: str
    load: Callable[[str | Path | None, AnySettings], Splits]
    task: Task[Any, Any]
    settings: AnySettings  # full size
    small: AnySettings  # minutes on two cores, with a useful result
    make_up: MakeUp | None = None  # inputs that look like the real ones, where there is a way to make them up

    def __post_init__(self) -> None:
        self.remember()

    @property
    def plugins(self) -> dict[str, str]:
        """The modules from outside the package that it is made of, with the names of their files."""
        parts = [self.load, self.task, self.settings, *(metric.measure for metric in self.task.metrics)]
        parts += [self.make_up] if self.make_up else []
        return {**needed_by(parts), **holding(self)}
