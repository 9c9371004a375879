"""Classifiers: one label or number for a text, a document or a tree, with the weights of its words and lines."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.explain import row_title
from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.fields import Field, Text
from seqattn_tf.lite.model_inputs import columns
from seqattn_tf.lite.targets import Label, Number
from seqattn_tf.models.base import (
    TOKENS,
    Model,
    Tensors,
    check_inputs,
    check_labels,
    one_per_row,
    only_where,
)
from seqattn_tf.models.networks.classifier import ClassifierNetwork


class Classifier(Model):
    """A model that predicts one label or one number for a text.

    With attention, the map of the text, and that of its lines if it has several, contains the weight of each position.
    For a tree with a label at every node, the map contains the probability of each label at each node instead.

    >>> from seqattn_tf.encoders import BidirectionalEncoder
    >>> from seqattn_tf.lite.fields import Text
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> words = Text(SymbolRules(("good", "bad"), tokenizer="spaces"))
    >>> network = ClassifierNetwork(BidirectionalEncoder(words.rules.size, units=8), outputs=2, pool="attention")
    >>> [answer] = Classifier(network, {"text": words}, Label(("neg", "pos"))).answer(["good good bad"])
    >>> answer.text in ("neg", "pos"), answer.attention["text"].weights.shape
    (True, (1, 3))
    """

    name_in_registry = "classifier"
    target: Label | Number
    network: ClassifierNetwork
    signatures = {"log_likelihood": ("answer",)}

    def __init__(self, network: ClassifierNetwork, inputs: Mapping[str, Field], target: Label | Number) -> None:
        check_inputs(network.encoder.input_name, inputs)
        check_labels(network.outputs_count, target)
        if network.everywhere and not isinstance(target, Label):
            raise ValueError(
                f"target: expected labels for a network that classifies every node. Received: {target.name_in_registry}"
            )
        super().__init__(network, inputs, target)

    def _look(self, level: str) -> str:
        return f"{self.network.encoder.input_name}_{level}" if level else self.network.encoder.input_name

    @property
    def attention_maps(self) -> Mapping[str, str | Sequence[str]]:
        """The attention of the label to each level of the input, or the probability of every label at every node."""
        if self.network.everywhere and isinstance(self.target, Label):
            return {self._look(self.network.encoder.level): self.target.labels}
        return {**{self._look(level): TOKENS for level in self.network.levels}, **self.attention_sources}

    @property
    def explanatory_maps(self) -> Sequence[str]:
        """The attention maps that show what an answer is based on: none if every node has a label.

        In that case the maps contain probabilities, not weights.
        """
        return [] if self.network.everywhere else super().explanatory_maps

    def infer(self, tensors: Tensors) -> Tensors:
        """Rank all labels by probability, or predict the number; a row with nothing to read gets an empty answer."""
        logits, looks, trees = self.network.look(tensors)
        logits = tf.cast(logits, tf.float32)
        read = self.network.encoder.input_lengths(tensors) > 0
        found = {self._look(level) + ATTENTION: tf.cast(weights, tf.float32) for level, weights in looks.items()}
        if self.network.everywhere:
            [look] = self.attention_maps
            found[look + ATTENTION] = tf.transpose(tf.nn.softmax(logits), [0, 2, 1])
            logits = tf.pad(logits, [[0, 0], [0, 1], [0, 0]])[:, 0]
        return only_where(
            read, {**self.graph_target.decode(logits), **found, **dict.fromkeys(self.extra_outputs, trees)}
        )

    def log_likelihood(self, answer: tf.Tensor, **raw: tf.Tensor) -> tf.Tensor:
        """Return the log-probability of each given answer: `[batch] -> [batch]`.

        A number has a probability of 1 if it is the answer of the model, and of 0 otherwise. The result is minus
        infinity for a text that is not a label, and for any answer to an empty input.
        """
        said = self.graph_target.format(self.infer(self.read(raw)[0]))
        answer = tf.strings.strip(one_per_row(answer, tf.size(said["score"])))
        names = tf.concat([said["text"][:, None], said["alternatives"]], axis=1)  # [batch, answers]
        scores = tf.concat([said["score"][:, None], said["alternative_scores"]], axis=1)
        return tf.reduce_max(tf.where(names == answer[:, None], scores, -float("inf")), axis=1)

    def explain(self, row: Any, look: str = "") -> Any:
        """Draw what the answer attends to; without attention, draw the prediction after each symbol of a plain text."""
        [field] = self.inputs.values()
        if look or self.attention_maps or type(field) is not Text:
            return super().explain(row, look)
        [answer], [[value]] = self.answer([row]), columns([row], list(self.inputs)).values()
        tokens, ids = field.positions(value), field.arrays(value)["ids"]
        prefixes = np.tril(np.tile(ids, [len(ids), 1])) if len(ids) else np.zeros([0, 0], np.int32)
        outputs = self.network({f"{self.network.encoder.input_name}_ids": tf.constant(prefixes)}, training=False)
        title = f"{row_title(self, row)} \u2192 {answer.text}"
        return self.graph_target.draw_progress(tokens, tf.cast(outputs, tf.float32).numpy(), title=title)
