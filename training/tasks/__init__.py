"""What each kind of model needs of a training: how it is built, fed and measured."""

from seqattn_tf.training.tasks.base import Report, Task, Training
from seqattn_tf.training.tasks.language import LanguageSettings, LanguageTask
from seqattn_tf.training.tasks.numbers import NumberSettings, NumberTask
from seqattn_tf.training.tasks.pairs import PairSettings, PairTask, TableSettings
from seqattn_tf.training.tasks.settings import Settings, setting

__all__ = [
    "LanguageSettings",
    "LanguageTask",
    "NumberSettings",
    "NumberTask",
    "PairSettings",
    "PairTask",
    "Report",
    "Settings",
    "TableSettings",
    "Task",
    "Training",
    "setting",
]
