"""The definition of a recipe: the choices of one application, as data."""

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

Synthesize = Callable[[Splits, int, int], list[Mapping[str, Any]]]  # (splits, count, seed) to rows of inputs by name
WORDS: dict[str, Any] = {  # settings of an encoder-decoder over the words of a small amount of raw text
    "source_tokenizer": "words",
    "target_tokenizer": "words",
    "lowercase": True,
    "strip_accents": True,
    "units": 256,
    "embedding": 128,
    "cell": "gru",
    "learning_rate": 1e-3,
    "beam_width": 5,
    "alternatives": 2,
    "length_penalty": 1.0,
}


def refuse_data(data: str | Path | None) -> None:
    """Raise an error if data is given to a recipe that generates its own."""
    if data is not None:
        raise ValueError(f"data: expected none, because this recipe generates its data. Received: {data}")


def load_pairs(data: str | Path | None, settings: TableColumns) -> Splits:
    """Load text pairs from a file or a folder, from the columns `text_column` and `target_column`; see `data.files`."""
    return load_table(data, {"text": settings.text_column}, settings.target_column, settings)


def load_table(data: str | Path | None, columns: Mapping[str, str], target: str, settings: TextTable) -> Splits:
    """Load examples from a table with a column for each input and one for the target, split as the settings define."""
    split = {"test": settings.test, "split_column": settings.split_column}
    return files.load(data, columns, target, **split, stream=settings.stream)


def load_files(data: str | Path, kind: str, file: str, target: str, settings: TableSplit) -> Splits:
    """Load images, clips or sounds listed in a table, with a column for the file and one for the target."""
    return pictures.load(data, file, target, kind=kind, test=settings.test, split_column=settings.split_column)


@dataclasses.dataclass(frozen=True)
class Recipe(RegisteredObject, Generic[AnySettings]):
    """One application: its data, its kind of training, and its settings; found by name once it has been created."""

    made: ClassVar[dict[str, Any]] = {}
    name: str
    summary: str
    load: Callable[[str | Path | None, AnySettings], Splits]
    task: Task[Any, Any]
    settings: AnySettings  # full size
    small: AnySettings  # trains in minutes on two cores, with a useful result
    synthesize: Synthesize | None = None  # generates inputs similar to real ones, if possible

    def __post_init__(self) -> None:
        self.remember()

    @property
    def plugins(self) -> dict[str, str]:
        """The modules from outside the package that the recipe depends on, with the names of their files."""
        parts = [self.load, self.task, self.settings, *(metric.measure for metric in self.task.metrics)]
        parts += [self.synthesize] if self.synthesize else []
        return {**needed_by(parts), **holding(self)}
