"""The network of models that answer questions about a story: several hops of attention over its facts."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention import MemoryChain, MemoryHops
from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoders import FactsEncoder
from seqattn_tf.encoders.turns import count_lines
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.models.networks.base import ReadingNetwork

_FORMS = ("hops", "chain", "independent")
QUESTION, FACTS = "question", "facts"


@keras.saving.register_keras_serializable("seqattn_tf")
class MemoryNetwork(ReadingNetwork):
    """A network that answers a question by several hops over facts (Sukhbaatar et al., 2015; Kim et al., 2017).

    Args:
        encoder: The story encoder.
        outputs: The number of answers.
        hops: The number of hops.
        attention_form: `"hops"`, where the query of each hop includes the result of the previous one; `"chain"`, a
            distribution over sequences of facts for all hops; `"independent"`, the same without scores for transitions
            between facts.
        units: The width in which questions and facts are compared.
        linear_start_steps: The number of initial training steps in which the attention of `"hops"` has no softmax.
        answer_from_last: With a sequence of facts, whether the answer is computed from the last fact alone, the others
            being intermediate steps.
        time_noise: The probability of inserting an empty fact after each fact in training, which changes their ages.
        dropout: The dropout rate before the output layer in training.

    Call arguments: a dict with the tensors that the encoder reads, and `question_ids`; returns `[batch, outputs]`.

    >>> network = MemoryNetwork(FactsEncoder(30, mark=9, embedding=8), outputs=4, hops=2)
    >>> network({"story_ids": tf.constant([[5, 9, 6, 7]]), "question_ids": tf.constant([[5, 6]])}).shape.as_list()
    [1, 4]
    """

    encoder: FactsEncoder

    def __init__(
        self,
        encoder: FactsEncoder,
        outputs: int,
        hops: int = 3,
        attention_form: str = "hops",
        units: int = 32,
        linear_start_steps: int = 0,
        answer_from_last: bool = False,
        time_noise: float = 0.0,
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(encoder, **kwargs)
        if attention_form not in _FORMS:
            raise ValueError(f"attention_form: expected one of {_FORMS}. Received: {attention_form!r}")
        self.outputs_count, self.units, self.attention_form = (
            check_count("outputs", outputs),
            check_count("units", units),
            attention_form,
        )
        if linear_start_steps and attention_form != "hops":
            raise ValueError(
                "linear_start_steps: expected 0 unless attention_form is hops. "
                f"Received: {linear_start_steps} for {attention_form}"
            )
        self.linear_start_steps = linear_start_steps
        alike = {"dtype": self.dtype_policy}
        ages = {"temporal": encoder.max_lines, "noise": time_noise, **alike}
        self.answer_from_last = answer_from_last and attention_form != "hops"
        self.memory = (
            MemoryHops(hops, **ages)
            if attention_form == "hops"
            else MemoryChain(hops, attention_form == "chain", self.answer_from_last, **ages)
        )
        self.drop = keras.layers.Dropout(dropout, **alike)

    def build(self, input_shape: Any = None) -> None:
        super().build()
        size = self.encoder.output_size
        if not self.memory.built:
            self.memory.build((None, self.units), (None, None, size))
        self.question = self.add_weight(name="question", shape=(size, self.units))
        self.kernel = self.add_weight(name="kernel", shape=(self.units, self.outputs_count))
        if self.linear_start_steps:
            self.steps = self.add_weight(name="steps", shape=(), initializer="zeros", dtype="float32", trainable=False)

    def _asked(self, tensors: Tensors, training: bool = False) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return the question, the facts and their mask."""
        read = self.encoder(tensors, training=training)
        asked = self.encoder.sentence(tensors[f"{QUESTION}_ids"], training)
        return linear(asked, self.question), read.values, read.mask

    def _find(self, asked: tuple[tf.Tensor, ...], training: bool) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the logits and the attention weights `[batch, hops, facts]`."""
        how: dict[str, Any] = {"training": training}
        if self.linear_start_steps:
            how["straight"] = self.steps < self.linear_start_steps
            if training:
                self.steps.assign_add(1.0)
        found, weights = self.memory(*asked, **how)
        return linear(self.drop(found, training=training), self.kernel), weights

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        return self._find(self._asked(tensors, training), training)[0]

    def look(self, tensors: Tensors, training: bool = False) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return the logits, the attention weights `[batch, hops, facts]` and one fact per hop, `int32 [batch, hops]`.

        Facts are line numbers from 1. With hops, the fact of each hop is the one with the largest weight; with a
        sequence of facts, it comes from the most probable sequence.
        """
        asked = self._asked(tensors, training)
        logits, weights = self._find(asked, training)
        if self.linear_start_steps and not training:  # without softmax, scores are not weights
            told, _ = self.memory.align.call(weights, asked[2][:, None])
            weights = tf.where(self.steps < self.linear_start_steps, told, weights)
        chosen = tf.argmax(weights, 2, tf.int32) if self.attention_form == "hops" else self.memory.argmax(*asked)
        lines = count_lines(self.encoder.part(tensors, "ids"), self.encoder.mark)
        return logits, weights, chosen + 1 + (lines - self.encoder.max_lines)[:, None]

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "outputs": self.outputs_count,
            "hops": self.memory.hops,
            "attention_form": self.attention_form,
            "units": self.units,
            "linear_start_steps": self.linear_start_steps,
            "answer_from_last": self.answer_from_last,
            "time_noise": self.memory.noise,
            "dropout": self.drop.rate,
        }
