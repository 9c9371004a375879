"""The model that trains a `CRF` layer with Keras's `fit`: its loss and its accuracy."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.replicas import mean_of_all
from seqattn_tf.structured.crf import CRF

_PARTS = ("tags", "scores", "mask")


_Model: Any = object  # a Keras model in the classes that use `CRFTraining`


class CRFTraining(_Model):
    """A mixin that trains a Keras model on the result of a `CRF` layer and predicts with it.

    Use it for models with their own `call`: `class Tagger(CRFTraining, keras.Model)`, with the layer as an attribute.
    `compile` needs no loss. The loss is the negative log-likelihood per token,

        -sum_b weight[b] log p(labels[b]) / (number of tokens in the batch, over all replicas)

    plus the losses of regularizers; `sample_weight` is one number per row. Labels are integers `[batch, time]` and are
    ignored at masked positions: a row of padding contributes neither to the numerator nor to the denominator.

    `accuracy` is the fraction of tokens, equally weighted, whose decoded tag equals the label. It requires decoding in
    every training step, which is cheap compared with a recurrent layer. Metrics passed to `compile` receive the labels
    and the decoded tags, with the mask. `predict` returns the tags `[batch, time]`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.accuracy = keras.metrics.Mean(name="accuracy")

    def compile(self, optimizer: Any = "rmsprop", loss: None = None, metrics: Any = None, **kwargs: Any) -> None:
        """Compile the model without a loss; `"accuracy"` is always included in the metrics."""
        if loss is not None:
            raise ValueError(f"loss: expected None, because the model has its own loss. Received: {loss!r}")
        metrics = [metrics] if isinstance(metrics, str) else metrics or []
        if not isinstance(metrics, list | tuple):
            raise ValueError(f"metrics: expected a list of tag metrics. Received: {metrics!r}")
        metrics = [metric for metric in metrics if metric not in ("accuracy", "acc")]
        super().compile(optimizer, metrics=metrics or None, **kwargs)

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compile the model when it is loaded."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.built:
            self.optimizer.build(self.trainable_variables)

    def _crf(self) -> CRF:
        found = [layer for layer in self.layers if isinstance(layer, CRF)]
        if len(found) != 1:
            raise ValueError(f"layers: expected one CRF. Received: {len(found)}")
        return found[0]

    @staticmethod
    def _parts(result: Any) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        if not isinstance(result, dict) or not set(_PARTS) <= set(result):
            raise ValueError(f"outputs: expected the result of a CRF layer, with {_PARTS}. Received: {result!r}")
        return tuple(result[part] for part in _PARTS)

    @staticmethod
    def _labels(labels: Any, mask: tf.Tensor) -> tf.Tensor:
        """Return the labels with the static shape of the mask.

        Labels may have a less or a more specific static shape than the model.
        """
        labels = tf.convert_to_tensor(labels)
        if not labels.shape.is_compatible_with(mask.shape):
            raise ValueError(f"labels: expected shape {mask.shape}, as in the tags. Received: shape {labels.shape}")
        return tf.ensure_shape(labels, mask.shape)

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> tf.Tensor:
        """Return the negative log-likelihood per token plus the losses of regularizers."""
        _, scores, mask = self._parts(y_pred)
        likelihood = self._crf().log_likelihood(scores, self._labels(y, mask), mask)
        if sample_weight is not None:
            weights = tf.convert_to_tensor(sample_weight)
            if weights.shape.rank not in (1, None):
                raise ValueError(f"sample_weight: expected one for each row, [batch]. Received: {weights.shape}")
            weights = tf.ensure_shape(weights, likelihood.shape)
            likelihood = tf.math.multiply_no_nan(likelihood, tf.cast(weights, likelihood.dtype))
        loss = mean_of_all(-tf.reduce_sum(likelihood), tf.reduce_sum(tf.cast(mask, likelihood.dtype)))
        replicas = tf.distribute.get_strategy().num_replicas_in_sync  # replicas sum their gradients
        return tf.add_n([loss, *(tf.cast(tf.reduce_sum(more), loss.dtype) / replicas for more in self.losses)])

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Update the accuracy over unmasked tokens and the metrics passed to `compile`."""
        tags, _, mask = self._parts(y_pred)
        y = self._labels(y, mask)
        right = tf.cast(tf.equal(tf.cast(y, tags.dtype), tags), tf.float32)  # `==` loses the static rank
        self.accuracy.update_state(right, sample_weight=tf.cast(mask, tf.float32))
        if sample_weight is not None:  # one weight per row, applied to each of its tokens
            sample_weight = tf.ensure_shape(sample_weight, tags.shape[:1])
            sample_weight = tf.broadcast_to(sample_weight[:, None], tf.shape(tags))
        return super().compute_metrics(x, y, tags, sample_weight)

    def predict_step(self, data: Any) -> tf.Tensor:
        """Return the decoded tags."""
        return self._parts(super().predict_step(data))[0]


@keras.saving.register_keras_serializable("seqattn_tf")
class CRFModel(CRFTraining, keras.Model):
    """A functional model that ends in a `CRF` layer, with `fit`, `evaluate` and `predict` as in any Keras model.

    See `CRFTraining` for the loss, the accuracy and the labels.

    >>> inputs = keras.Input((None,), dtype="int32")
    >>> features = keras.layers.Embedding(10, 4, mask_zero=True)(inputs)
    >>> model = CRFModel(inputs, CRF(3)(features))
    >>> model.compile("adam")
    >>> words, labels = tf.constant([[5, 3, 0], [2, 4, 6]]), tf.constant([[0, 1, 0], [2, 1, 0]])
    >>> sorted(model.fit(words, labels, verbose=0).history)
    ['accuracy', 'loss']
    >>> model.predict(words, verbose=0).shape
    (2, 3)
    """
