"""The network of entailment models: the words of one text attend to the words of another."""

from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention import Alignment
from seqattn_tf.core.masking import zero_masked
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoders import Encoder, EncoderOutput
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.models.networks.base import ReadingNetwork

PREMISE, HYPOTHESIS = "premise", "hypothesis"
PAIR = (PREMISE, HYPOTHESIS)


@keras.saving.register_keras_serializable("seqattn_tf")
class EntailmentNetwork(ReadingNetwork):
    """Decomposable attention (Parikh et al., 2016) over the encodings of two texts by the same encoder.

        e_ij = F(a_i) . F(b_j)    beta_i = sum_j softmax_j(e_ij) b_j    alpha_j = sum_i softmax_i(e_ij) a_i
        y = H([sum_i G([a_i; beta_i]); sum_j G([b_j; alpha_j])])

    Args:
        encoder: The encoder of both texts.
        outputs: The number of labels.
        units: The width of `F`, `G` and `H`, which have two layers each.
        dropout: The dropout rate before each of their layers in training.
        differences: Whether `G` also gets `a_i - beta_i` and the product of both (Chen et al., 2017), which the network
            could otherwise learn only from many pairs.

    Call arguments: a dict with the tensors that the encoder reads, of `premise` and of `hypothesis`; returns the logits
    `[batch, outputs]`.

    >>> from seqattn_tf.encoders import HeadsEncoder
    >>> network = EntailmentNetwork(HeadsEncoder(30, head_attention="none", embedding=8), outputs=3, units=8)
    >>> ids = tf.ones([2, 5], tf.int32)
    >>> network({"premise_ids": ids, "hypothesis_ids": ids[:, :3]}).shape.as_list()
    [2, 3]
    """

    def __init__(
        self,
        encoder: Encoder,
        outputs: int,
        units: int = 200,
        dropout: float = 0.0,
        differences: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(encoder, **kwargs)
        encoder.check_one_per_token()
        self.outputs_count, self.units = check_count("outputs", outputs), check_count("units", units)
        self.differences = differences
        alike = {"dtype": self.dtype_policy}
        self.drop = keras.layers.Dropout(dropout, **alike)
        self.align = Alignment.get("softmax", **alike)
        self.steps_of = {
            name: [keras.layers.Dense(units, activation="relu", name=f"{name}_{i}", **alike) for i in (1, 2)]
            for name in ("attend", "compare", "aggregate")
        }
        self.decide = keras.layers.Dense(outputs, name="decide", **alike)

    def build(self, input_shape: Any = None) -> None:
        super().build()
        width = self.encoder.output_size
        sizes = {"attend": width, "compare": (4 if self.differences else 2) * width, "aggregate": 2 * self.units}
        for name, layers in self.steps_of.items():
            for layer, size in zip(layers, (sizes[name], self.units), strict=True):
                if not layer.built:
                    layer.build((None, size))
        if not self.decide.built:
            self.decide.build((None, self.units))

    def _steps(self, name: str, values: tf.Tensor, training: bool) -> tf.Tensor:
        for layer in self.steps_of[name]:
            values = layer(self.drop(values, training=training))
        return values

    def tensors_of(self, name: str, tensors: Tensors) -> Tensors:
        """Return the tensors of one text under the names that the encoder expects."""
        begin = f"{name}_"
        found = {key: value for key, value in tensors.items() if key.startswith(begin)}
        return {f"{self.encoder.input_name}_{key[len(begin) :]}": value for key, value in found.items()}

    def _read(self, tensors: Tensors, training: bool) -> dict[str, EncoderOutput]:
        return {name: self.encoder(self.tensors_of(name, tensors), training=training) for name in PAIR}

    def _compared(self, read: Mapping[str, EncoderOutput], training: bool) -> tuple[tf.Tensor, Tensors]:
        """Return the logits and, for each text, the attention weights from the other text."""
        attend = {name: self._steps("attend", read[name].values, training) for name in PAIR}
        sums, looks = [], {}
        for name, other in (PAIR, PAIR[::-1]):
            one, two = read[name], read[other]
            scores = tf.matmul(attend[name], attend[other], transpose_b=True)
            weights, _ = self.align.call(scores, two.mask[:, None])
            looks[other] = zero_masked(weights, one.mask)
            found = tf.matmul(weights, zero_masked(two.values, two.mask))
            both = [one.values, found]
            if self.differences:
                both += [one.values - found, one.values * found]
            compared = self._steps("compare", tf.concat(both, axis=2), training)
            sums.append(tf.reduce_sum(zero_masked(compared, one.mask), axis=1))
        joined = self._steps("aggregate", tf.concat(sums, axis=1), training)
        return self.decide(self.drop(joined, training=training)), looks

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        return self._compared(self._read(tensors, training), training)[0]

    def look(self, tensors: Tensors) -> tuple[tf.Tensor, Tensors, dict[str, tf.Tensor | None]]:
        """Return the logits, the attention weights between the texts and within each, and the best tree of each."""
        read = self._read(tensors, training=False)
        logits, looks = self._compared(read, training=False)
        within = {f"{name}_{level}": weights for name in PAIR for level, weights in read[name].attention.items()}
        return logits, {**looks, **within}, {name: read[name].trees for name in PAIR}

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "outputs": self.outputs_count,
            "units": self.units,
            "dropout": self.drop.rate,
            "differences": self.differences,
        }
