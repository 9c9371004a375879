"""What a recipe is: the choices of one application, as data."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from seqattn_tf.training.data import Splits
from seqattn_tf.training.tasks import Settings, Task

WORDS = {  # settings of an encoder-decoder over the words of raw text, where there are not many
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


@dataclasses.dataclass(frozen=True)
class Recipe:
    """One application: its data, the kind of training, and its settings."""

    name: str
    summary: str
    load: Callable[[str | Path | None, Settings], Splits]
    task: Task
    settings: Settings  # full size
    small: Settings  # minutes on two cores, with a useful result
