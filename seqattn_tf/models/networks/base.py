"""The base class of networks that read one input and compute their outputs in a single pass."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.encoders import Encoder


class ReadingNetwork(keras.Model):
    """An encoder, followed by whatever a subclass computes from its outputs.

    A subclass implements `call` and `arguments`. If it has weights or layers besides the encoder, its `build` calls
    `super().build()`.

    Args:
        encoder: The encoder of the input.
    """

    def __init__(self, encoder: Encoder, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.encoder = encoder

    def build(self, input_shape: Any = None) -> None:
        """Build the encoder. The shapes follow from its arguments, so `input_shape` is not used."""
        if not self.encoder.built:
            self.encoder.build()
        self.built = True

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Build the network; no recorded shape is needed."""
        if not self.built:
            self.build()

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> tf.Tensor:
        """Apply the loss given to `compile` to all outputs together, where Keras would require a loss for each."""
        if sample_weight is not None:
            raise ValueError(
                "sample_weight: expected None, because all positions of a batch have equal weight. Received: weights"
            )
        return tf.add_n([self.loss(y, y_pred), *map(self._aggregate_additional_loss, self.losses)])

    @property
    def arguments(self) -> dict[str, Any]:
        """The constructor arguments of the subclass."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        encoder = keras.saving.serialize_keras_object(self.encoder)
        return {**super().get_config(), "encoder": encoder, **self.arguments}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> "ReadingNetwork":
        return cls(**{**config, "encoder": keras.saving.deserialize_keras_object(config["encoder"])})
