"""The network of answers about a story: a memory that is looked at, fact after fact."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention import MemoryChain, MemoryHops
from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count
from seqattn_tf.encoder import FactsEncoder
from seqattn_tf.encoder.turns import count_lines
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.models.networks.base import ReadingNetwork

_FORMS = ("hops", "chain", "independent")
QUESTION, FACTS = "question", "facts"


@keras.saving.register_keras_serializable("seqattn_tf")
class MemoryNetwork(ReadingNetwork):
    """The logits of answers, by several looks at facts (Sukhbaatar et al., 2015; Kim et al., 2017).

    Args:
        encoder: what reads the story.
        outputs: how many answers there are.
        hops: how many looks.
        form: `"hops"`, each look asking with what the last one found; `"chain"`, all looks as one sequence of facts;
            `"independent"`, the same without comparing facts that follow each other.
        units: width of questions and facts where they are compared.
        linear_steps: for how many first steps of training the looks of `"hops"` go without their softmax.
        last: of a sequence of facts, whether the answer comes from the last alone, the others being the way there.
        noise: in training, how often a fact seems to be followed by one more, empty.
        dropout: rate on what the logits come from, in training.

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
        form: str = "hops",
        units: int = 32,
        linear_steps: int = 0,
        last: bool = False,
        noise: float = 0.0,
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(encoder, **kwargs)
        if form not in _FORMS:
            raise ValueError(f"form: expected one of {_FORMS}. Received: {form!r}")
        self.outputs_count, self.units, self.form = check_count("outputs", outputs), check_count("units", units), form
        if linear_steps and form != "hops":
            raise ValueError(f"linear_steps: expected 0 but for hops. Received: {linear_steps} for {form}")
        self.linear_steps = linear_steps
        alike = {"dtype": self.dtype_policy}
        ages = {"temporal": encoder.lines, "noise": noise, **alike}
        self.last = last and form != "hops"
        self.memory = (
            MemoryHops(hops, **ages) if form == "hops" else MemoryChain(hops, form == "chain", self.last, **ages)
        )
        self.drop = keras.layers.Dropout(dropout, **alike)

    def build(self, input_shape: Any = None) -> None:
        """Build every part."""
        super().build()
        size = self.encoder.output_size
        if not self.memory.built:
            self.memory.build((None, self.units), (None, None, size))
        self.question = self.add_weight(name="question", shape=(size, self.units))
        self.kernel = self.add_weight(name="kernel", shape=(self.units, self.outputs_count))
        if self.linear_steps:
            self.steps = self.add_weight(name="steps", shape=(), initializer="zeros", dtype="float32", trainable=False)

    def _asked(self, tensors: Tensors, training: bool = False) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The question, the facts and their mask."""
        read = self.encoder(tensors, training=training)
        asked = self.encoder.sentence(tensors[f"{QUESTION}_ids"], training)
        return linear(asked, self.question), read.values, read.mask

    def _find(self, asked: tuple[tf.Tensor, ...], training: bool) -> tuple[tf.Tensor, tf.Tensor]:
        """The logits, and the looks `[batch, hops, facts]`."""
        how: dict[str, Any] = {"training": training}
        if self.linear_steps:
            how["straight"] = self.steps < self.linear_steps
            if training:
                self.steps.assign_add(1.0)
        found, weights = self.memory(*asked, **how)
        return linear(self.drop(found, training=training), self.kernel), weights

    def call(self, tensors: Tensors, training: bool = False) -> tf.Tensor:
        """The logits."""
        return self._find(self._asked(tensors, training), training)[0]

    def look(self, tensors: Tensors, training: bool = False) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The logits, the looks `[batch, hops, facts]`, and a fact for each: `int32 [batch, hops]`, lines from 1.

        Of hops, the fact that each look saw most; of a chain, the most probable sequence.
        """
        asked = self._asked(tensors, training)
        logits, weights = self._find(asked, training)
        if self.linear_steps and not training:  # matches are no weights, and none are of what is not there
            told, _ = self.memory.align.call(weights, asked[2][:, None])
            weights = tf.where(self.steps < self.linear_steps, told, weights)
        chosen = tf.argmax(weights, 2, tf.int32) if self.form == "hops" else self.memory.argmax(*asked)
        lines = count_lines(self.encoder.part(tensors, "ids"), self.encoder.mark)
        return logits, weights, chosen + 1 + (lines - self.encoder.lines)[:, None]

    @property
    def arguments(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            "outputs": self.outputs_count,
            "hops": self.memory.hops,
            "form": self.form,
            "units": self.units,
            "linear_steps": self.linear_steps,
            "last": self.last,
            "noise": self.memory.noise,
            "dropout": self.drop.rate,
        }
