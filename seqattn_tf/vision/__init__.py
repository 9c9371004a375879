"""Networks that convert the pixels of an image to a feature map, found by name."""

from seqattn_tf.vision.application import ApplicationBackbone
from seqattn_tf.vision.base import Backbone
from seqattn_tf.vision.cnn import ConvolutionalBackbone
from seqattn_tf.vision.efficientnet import EfficientNetLite0

__all__ = ["ApplicationBackbone", "Backbone", "ConvolutionalBackbone", "EfficientNetLite0"]
