"""What each kind of model needs of a training: how it is built, fed and measured."""

from seqattn_tf.training.tasks.answering import AnswerSettings, AnswerTask
from seqattn_tf.training.tasks.asking import AskSettings, AskTask
from seqattn_tf.training.tasks.base import Report, Task, Training
from seqattn_tf.training.tasks.captioning import CaptionSettings, CaptionTask
from seqattn_tf.training.tasks.classifying import ClassifySettings, ClassifyTask
from seqattn_tf.training.tasks.inferring import EntailSettings, EntailTask
from seqattn_tf.training.tasks.language import LanguageSettings, LanguageTask
from seqattn_tf.training.tasks.listening import ListenSettings, ListenTask
from seqattn_tf.training.tasks.numbers import NumberSettings, NumberTask
from seqattn_tf.training.tasks.pairs import PairSettings, PairTask, TableSettings
from seqattn_tf.training.tasks.parsing import ParseSettings, ParseTask
from seqattn_tf.training.tasks.reading import ReadingSettings
from seqattn_tf.training.tasks.settings import Settings, TextSettings, setting
from seqattn_tf.training.tasks.tagging import TagSettings, TagTask
from seqattn_tf.training.tasks.watching import (
    CaptionVideoSettings,
    CaptionVideoTask,
    ClassifyVideoTask,
    WatchSettings,
)

__all__ = [
    "AnswerSettings",
    "AnswerTask",
    "AskSettings",
    "AskTask",
    "CaptionSettings",
    "CaptionTask",
    "CaptionVideoSettings",
    "CaptionVideoTask",
    "ClassifySettings",
    "ClassifyTask",
    "ClassifyVideoTask",
    "EntailSettings",
    "EntailTask",
    "LanguageSettings",
    "LanguageTask",
    "ListenSettings",
    "ListenTask",
    "NumberSettings",
    "NumberTask",
    "PairSettings",
    "PairTask",
    "ParseSettings",
    "ParseTask",
    "ReadingSettings",
    "Report",
    "Settings",
    "TableSettings",
    "TagSettings",
    "TagTask",
    "Task",
    "TextSettings",
    "Training",
    "WatchSettings",
    "setting",
]
