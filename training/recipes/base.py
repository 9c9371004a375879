"""What a recipe is: the choices of one application, as data."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.tasks import Settings, Task


@dataclasses.dataclass(frozen=True)
class Recipe:
    """One application: its data, the kind of training, and its settings."""

    name: str
    summary: str
    load: Callable[[str | Path | None, Settings], Splits]
    task: Task
    settings: Settings  # full size
    small: Settings  # minutes on two cores, with a useful result
