"""Tasks: how each kind of model is built, fed and evaluated in training."""

from seqattn_tf.training.tasks.answering import AnswerSettings, AnswerTask
from seqattn_tf.training.tasks.base import Report, Task, Training
from seqattn_tf.training.tasks.captioning import CaptionSettings, CaptionTask
from seqattn_tf.training.tasks.classifying import ClassifySettings, ClassifyTask
from seqattn_tf.training.tasks.entailment import EntailSettings, EntailTask
from seqattn_tf.training.tasks.image_questions import ImageQuestionSettings, ImageQuestionTask
from seqattn_tf.training.tasks.language import LanguageSettings, LanguageTask
from seqattn_tf.training.tasks.numbers import NumberSettings, NumberTask
from seqattn_tf.training.tasks.pairs import PairSettings, PairTask, TableSettings
from seqattn_tf.training.tasks.parsing import ParseSettings, ParseTask
from seqattn_tf.training.tasks.reading import ReadingSettings
from seqattn_tf.training.tasks.settings import Settings, TextSettings, setting
from seqattn_tf.training.tasks.tagging import TagSettings, TagTask
from seqattn_tf.training.tasks.transcribing import TranscribeSettings, TranscribeTask
from seqattn_tf.training.tasks.videos import (
    CaptionVideoSettings,
    CaptionVideoTask,
    ClassifyVideoTask,
    VideoSettings,
)

__all__ = [
    "AnswerSettings",
    "AnswerTask",
    "CaptionSettings",
    "CaptionTask",
    "CaptionVideoSettings",
    "CaptionVideoTask",
    "ClassifySettings",
    "ClassifyTask",
    "ClassifyVideoTask",
    "EntailSettings",
    "EntailTask",
    "ImageQuestionSettings",
    "ImageQuestionTask",
    "LanguageSettings",
    "LanguageTask",
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
    "TranscribeSettings",
    "TranscribeTask",
    "VideoSettings",
    "setting",
]
