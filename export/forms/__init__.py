"""The forms to which a model is exported, each verified before it is published."""

from seqattn_tf.export.forms.base import Form
from seqattn_tf.export.forms.lite import Lite, QuantizedLite
from seqattn_tf.export.forms.saved_model import SavedModel

__all__ = ["Form", "Lite", "QuantizedLite", "SavedModel"]
