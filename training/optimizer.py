"""The optimiser of all trainings: Keras's Adam, which measures every gradient and takes none that is no number."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.training.tasks import Settings


@keras.saving.register_keras_serializable("seqattn_tf")
class Adam(keras.optimizers.Adam):
    """Adam whose gradients are clipped to `global_clipnorm`, or zero where their norm is no number.

    `norm` is that of the last gradient before clipping. After `fit` the weights stay what they are: their means, where
    there are any, are beside them (see `averaged`).

    >>> weight = keras.Variable([1.0, 2.0])
    >>> adam = Adam(0.5, global_clipnorm=1.0)
    >>> adam.apply([tf.constant([3.0, 4.0])], [weight])
    >>> float(adam.norm)
    5.0
    >>> adam.apply([tf.constant([float("nan"), 4.0])], [weight])
    >>> bool(tf.reduce_all(tf.math.is_finite(weight)))
    True
    """

    def build(self, variables: Sequence[keras.Variable]) -> None:
        """Create what is kept of each variable, and the norm."""
        super().build(variables)
        if not hasattr(self, "norm"):
            self.norm = self.add_variable((), dtype="float32", name="norm")

    def _clip_gradients(self, grads: Sequence[Any]) -> list[Any]:
        dense = [None if grad is None else tf.convert_to_tensor(grad) for grad in grads]
        norm = tf.linalg.global_norm(dense)
        self.norm.assign(tf.cast(norm, tf.float32))
        share = tf.minimum(self.global_clipnorm / tf.maximum(norm, self.global_clipnorm), 1.0)
        share = tf.where(tf.math.is_finite(norm), share, tf.zeros_like(share))
        return [None if grad is None else tf.math.multiply_no_nan(grad, tf.cast(share, grad.dtype)) for grad in dense]

    def finalize_variable_values(self, var_list: Any) -> None:
        """Leave weights as they are: a training may go on."""


def adam_of(network: keras.Model) -> Adam:
    """The optimiser of a compiled network, also where another scales its loss (`mixed_float16`)."""
    return getattr(network.optimizer, "inner_optimizer", network.optimizer)


def optimizer_of(settings: Settings, steps: int) -> Adam:
    """Adam with warm-up and a cosine decay over so many steps, and what the settings say."""
    rate = keras.optimizers.schedules.CosineDecay(
        0.0,
        max(steps - settings.warmup_steps, 1),
        warmup_target=settings.learning_rate,
        warmup_steps=settings.warmup_steps,
    )
    mean = {"use_ema": True, "ema_momentum": settings.average} if settings.average else {}
    return Adam(
        rate,
        beta_2=settings.beta_2,
        weight_decay=settings.weight_decay or None,
        global_clipnorm=settings.clip_norm,
        gradient_accumulation_steps=settings.accumulate if settings.accumulate > 1 else None,
        **mean,
    )
