"""What networks share that read one input and answer at once."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.encoder import Encoder


class ReadingNetwork(keras.Model):
    """An encoder, and what a subclass makes of what it read.

    A subclass gives `call` and, besides what it builds of its own, calls `build` of this one.

    Args:
        encoder: what reads.
    """

    def __init__(self, encoder: Encoder, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.encoder = encoder

    def build(self, input_shape: Any = None) -> None:
        """Build the encoder; the shapes follow from its arguments."""
        if not self.encoder.built:
            self.encoder.build()
        self.built = True

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Build: no shape that was seen is needed."""
        if not self.built:
            self.build()

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> tf.Tensor:
        """What `compile` was given, of all outputs together: Keras would want a loss for each."""
        if sample_weight is not None:
            raise ValueError("sample_weight: expected none, a batch counts by its places. Received: some")
        return tf.add_n([self.loss(y, y_pred), *map(self._aggregate_additional_loss, self.losses)])

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments of the subclass."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        encoder = keras.saving.serialize_keras_object(self.encoder)
        return {**super().get_config(), "encoder": encoder, **self.arguments}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> "ReadingNetwork":
        """Rebuild, the encoder included."""
        return cls(**{**config, "encoder": keras.saving.deserialize_keras_object(config["encoder"])})
