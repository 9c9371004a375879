"""The optimizer for training: Keras's Adam, extended to record gradient norms and ignore non-finite gradients."""

import math
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.training.tasks import Settings


@keras.saving.register_keras_serializable("seqattn_tf")
class CosineDecay(keras.optimizers.schedules.CosineDecay):
    """Keras's schedule without a conditional. The graph would have one for every weight, which makes it slow to build.

    >>> schedule = CosineDecay(0.0, 10, warmup_target=0.5, warmup_steps=4)
    >>> [round(float(schedule(step)), 3) for step in (0, 2, 4, 9, 14, 20)]
    [0.0, 0.25, 0.5, 0.25, 0.0, 0.0]
    """

    def __call__(self, step: Any) -> tf.Tensor:
        """Return the learning rate of a step."""
        step = tf.minimum(tf.cast(step, tf.float32), float(self.decay_steps + self.warmup_steps))
        warming = (self.warmup_target - self.initial_learning_rate) * (step / max(self.warmup_steps, 1))
        cosine = 0.5 * (1.0 + tf.cos(math.pi * ((step - self.warmup_steps) / self.decay_steps)))
        decayed = self.warmup_target * ((1 - self.alpha) * cosine + self.alpha)
        return tf.where(step < self.warmup_steps, warming + self.initial_learning_rate, decayed)


@keras.saving.register_keras_serializable("seqattn_tf")
class Adam(keras.optimizers.Adam):
    """Adam with gradients clipped to `global_clipnorm`, and set to zero if their norm is not finite.

    `norm` is the norm of the last gradient before clipping. `fit` does not replace the weights by their moving
    averages, which are stored separately (see `averaged`).

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
        """Create the slots of each variable, and the norm."""
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
        """Keep the weights as they are, because training may be resumed."""


def adam_of(network: keras.Model) -> Adam:
    """Return the optimizer of a compiled network, also inside a loss-scaling optimizer (`mixed_float16`)."""
    return getattr(network.optimizer, "inner_optimizer", network.optimizer)


def optimizer_of(settings: Settings, steps: int) -> Adam:
    """Return Adam with warm-up and a cosine decay over this many steps, configured by the settings."""
    rate = CosineDecay(
        0.0,
        max(steps - settings.warmup_steps, 1),
        warmup_target=settings.learning_rate,
        warmup_steps=settings.warmup_steps,
    )
    mean = {"use_ema": True, "ema_momentum": settings.ema_decay} if settings.ema_decay else {}
    return Adam(
        rate,
        beta_2=settings.beta_2,
        weight_decay=settings.weight_decay or None,
        global_clipnorm=settings.clip_norm,
        gradient_accumulation_steps=settings.gradient_accumulation_steps
        if settings.gradient_accumulation_steps > 1
        else None,
        **mean,
    )
