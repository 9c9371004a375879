"""What each kind of model needs of a training: how it is built, fed and measured."""

from seqattn_tf.training.tasks.base import Report, Settings, Task
from seqattn_tf.training.tasks.pairs import PairSettings, PairTask

__all__ = ["PairSettings", "PairTask", "Report", "Settings", "Task"]
