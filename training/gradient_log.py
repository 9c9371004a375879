"""TensorBoard logs of the gradients and gates during `fit`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.recurrent import watch_gates

_SATURATED = 0.1  # a gate that is closer than this to one of its bounds has almost no gradient


class GradientLog(keras.callbacks.Callback):
    """A callback that logs gradients and gates to TensorBoard during `fit`.

    - `gradient/norm`: the global norm of the gradient of a training step, before clipping;
    - `gradient/clipped`: the share of steps since the last entry that were clipped (with `global_clipnorm`; with
      `clipnorm` or `clipvalue`, the share of their gradients);
    - `gates/LAYER/GATE`: after every epoch, the share of a gate's activations within 0.1 of its bounds, for every
      `Recurrent` in the model.

    Args:
        log_dir: The folder of the event files.
        data: A batch of inputs for which to compute the gates; without it, gates are not logged.
        every: The number of steps between two entries of the gradient.

    >>> callback = GradientLog("logs", every=50)
    """

    def __init__(self, log_dir: str | Path, data: Any = None, every: int = 10) -> None:
        super().__init__()
        if every < 1:
            raise ValueError(f"every: expected a positive number of steps. Received: {every}")
        self.log_dir, self.data, self.every = str(log_dir), data, every

    def set_model(self, model: keras.Model) -> None:
        """Insert the measurement between the model and its optimizer. The train step is traced again."""
        super().set_model(model)
        shared = {"trainable": False, "aggregation": tf.VariableAggregation.MEAN}
        self._norm, self._clipped, self._steps = (tf.Variable(0.0, **shared) for _ in range(3))
        # `inner_optimizer` is the one inside a loss-scaling optimizer.
        optimizer = self._optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
        self._apply = apply = optimizer.apply

        def watched(grads: list, trainable_variables: list | None = None) -> Any:
            self._look(optimizer, [tf.convert_to_tensor(g) for g in grads if g is not None])
            return apply(grads, trainable_variables)

        optimizer.apply = watched
        model.train_function = None

    def _look(self, optimizer: keras.optimizers.Optimizer, gradients: list[tf.Tensor]) -> None:
        gradients = [tf.cast(gradient, tf.float32) for gradient in gradients]
        norms = tf.stack([tf.norm(gradient) for gradient in gradients])
        total = tf.norm(norms)
        if optimizer.global_clipnorm is not None:
            clipped = tf.cast(total > optimizer.global_clipnorm, tf.float32)
        elif optimizer.clipnorm is not None:
            clipped = tf.reduce_mean(tf.cast(norms > optimizer.clipnorm, tf.float32))
        elif optimizer.clipvalue is not None:
            largest = tf.stack([tf.reduce_max(tf.abs(gradient)) for gradient in gradients])
            clipped = tf.reduce_mean(tf.cast(largest > optimizer.clipvalue, tf.float32))
        else:
            clipped = tf.constant(0.0)
        self._norm.assign(total)
        self._clipped.assign_add(clipped)
        self._steps.assign_add(1.0)

    def on_train_begin(self, logs: Any = None) -> None:
        self._writer = tf.summary.create_file_writer(self.log_dir)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        steps = float(self._steps)
        if steps < self.every:
            return
        with self._writer.as_default(step=int(self.model.optimizer.iterations.numpy())):
            _write("gradient/norm", self._norm)
            _write("gradient/clipped", self._clipped / steps)
        self._clipped.assign(0.0)
        self._steps.assign(0.0)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self.data is None:
            return
        with watch_gates() as seen:
            self.model(self.data, training=False)
        with self._writer.as_default(step=int(self.model.optimizer.iterations.numpy())):
            for layer, gates in seen:
                for name, values in gates.items():
                    _write(f"gates/{layer}/{name}", _saturated(name, values))

    def on_train_end(self, logs: Any = None) -> None:
        """Close the file, and restore the model."""
        self._writer.close()
        self._optimizer.apply = self._apply
        self.model.train_function = None


class EpochLog(keras.callbacks.Callback):
    """A callback that logs the metrics of every epoch and a picture of the attention to TensorBoard.

    Args:
        log_dir: The folder of the event files.
        picture: Returns the picture as a PNG file.
    """

    def __init__(self, log_dir: str | Path, picture: Callable[[], bytes]) -> None:
        super().__init__()
        self.writer, self.picture = tf.summary.create_file_writer(str(log_dir)), picture

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        with self.writer.as_default(step=epoch + 1):
            for name, value in logs.items():
                _write(f"epoch/{name}", value)
            _write_picture("attention", self.picture())
        self.writer.flush()


def _write(tag: str, value: Any) -> None:
    """Write a scalar for TensorBoard. (`tf.summary.scalar` would require TensorBoard to be installed.)"""
    metadata = tf.compat.v1.SummaryMetadata(data_class="DATA_CLASS_SCALAR")
    metadata.plugin_data.plugin_name = "scalars"
    tf.summary.write(tag, tf.cast(value, tf.float32), metadata=metadata)


def _write_picture(tag: str, png: bytes) -> None:
    """Write a picture in the format of TensorBoard: width, height, and the bytes of a PNG file."""
    metadata = tf.compat.v1.SummaryMetadata(data_class="DATA_CLASS_BLOB_SEQUENCE")
    metadata.plugin_data.plugin_name = "images"
    height, width, _ = tf.image.decode_png(png).shape
    tf.summary.write(tag, tf.constant([str(width), str(height), png]), metadata=metadata)


def _saturated(name: str, values: tf.Tensor) -> tf.Tensor:
    """Return the share of activations `[..., units]` near a bound: 0 or 1 for a gate, -1 or 1 for a candidate."""
    values = tf.cast(values, tf.float32)
    near = tf.abs(values) > 1 - _SATURATED
    if name.rpartition("/")[2] not in ("candidate", "hidden"):
        near |= values < _SATURATED
    return tf.reduce_mean(tf.cast(near, tf.float32))
