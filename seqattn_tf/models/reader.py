"""Readers: a sequence of symbols in, one number or one label out."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.model_inputs import columns
from seqattn_tf.lite.targets import Label, Number
from seqattn_tf.lite.text.rules import PAD
from seqattn_tf.models.base import Model, Tensors, one_each, only_where
from seqattn_tf.models.networks.reader import IDS, ReaderNetwork


class Reader(Model):
    """Texts to whole numbers or to labels, by a `ReaderNetwork`: a `Number` or a `Label` is its target.

    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.lite.targets import Label
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> bits = SymbolRules(("0", "1"), split="spaces")
    >>> network = ReaderNetwork(bits.size, outputs=2, units=4)
    >>> reader = Reader(network, {"text": Text(bits)}, Label(("even", "odd")))
    >>> reader.answer(["1 0 1"])[0].text in ("even", "odd")
    True
    """

    name_in_registry = "reader"
    target: Label | Number
    signatures = {"log_likelihood": ("answer",)}

    def __init__(self, network: ReaderNetwork, inputs: Mapping[str, Field], target: Label | Number) -> None:
        if list(inputs) != ["text"]:
            raise ValueError(f"inputs: expected one named text. Received: {list(inputs)}")
        if network.settings["outputs"] != target.size:
            outputs = network.settings["outputs"]
            raise ValueError(f"target: expected one for the network's {outputs} outputs. Received: {target.size}")
        super().__init__(network, inputs, target)

    def infer(self, tensors: Tensors) -> Tensors:
        """What the target makes of the network's outputs; a row with nothing to read gets nothing."""
        outputs = tf.cast(self.network(tensors, training=False), tf.float32)
        return only_where(tf.reduce_any(tensors[IDS] != PAD, axis=1), self.says.decide(outputs))

    def log_likelihood(self, answer: tf.Tensor, **raw: tf.Tensor) -> tf.Tensor:
        """Log-probability of each given answer: `[batch] -> [batch]`.

        A number that is not the answer has a probability of 0, the answer of 1. Minus infinity for what is no label,
        and for any answer to nothing.
        """
        said = self.says.say(self.infer(self.read(raw)[0]))
        answer = tf.strings.strip(one_each(answer, tf.size(said["score"])))
        names = tf.concat([said["text"][:, None], said["alternatives"]], axis=1)  # [batch, answers]
        scores = tf.concat([said["score"][:, None], said["alternative_scores"]], axis=1)
        return tf.reduce_max(tf.where(names == answer[:, None], scores, -float("inf")), axis=1)

    def explain(self, row: Any, look: str = "") -> Any:
        """What the answer would have been after each symbol."""
        [answer], [field] = self.answer([row]), self.inputs.values()
        [[value]] = columns([row], list(self.inputs)).values()
        tokens, ids = field.places(value), field.arrays(value)["ids"]
        parts = np.tril(np.tile(ids, [len(ids), 1])) if len(ids) else np.zeros([0, 0], np.int32)
        found = tf.cast(self.network({IDS: tf.constant(parts)}, training=False), tf.float32).numpy()
        return self.says.draw_progress(tokens, found, title=f"{self.title(row)} \u2192 {answer.text}")
