"""Tellers: a text in, symbols of the same kind out, pointed at or kept in mind."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.core.masking import row_lengths
from seqattn_tf.decoding import greedy
from seqattn_tf.explain import draw_memory
from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.model_inputs import columns
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.lite.text.rules import BEGIN, END, PAD
from seqattn_tf.models.base import TOKENS, Model, Tensors, only_where
from seqattn_tf.models.networks.pointing import IDS, NEVER, PointerNetwork
from seqattn_tf.models.networks.retelling import RetellNetwork
from seqattn_tf.models.seq2seq import MARGIN, likelihood
from seqattn_tf.outputs.symbols import SHIFTED
from seqattn_tf.recurrent.watch import watch_gates


class Teller(Model):
    """Symbols said again, by a `PointerNetwork` or a `RetellNetwork`: the best one at every step.

    Args:
        network: the Keras network.
        inputs: the text that goes in.
        target: what comes out, of the same symbols.

    >>> from seqattn_tf.lite.text import SymbolRules
    >>> rules = SymbolRules(("3", "4", "5"), split="spaces")
    >>> teller = Teller(PointerNetwork(rules.size, units=8), {"text": Text(rules)}, Symbols(rules))
    >>> set(teller.answer(["5 3 5"])[0].tokens) <= {"3", "5"}
    True
    """

    name_in_registry = "teller"
    target: Symbols
    signatures = {"log_likelihood": ("answer",)}

    def __init__(self, network: PointerNetwork | RetellNetwork, inputs: Mapping[str, Text], target: Symbols) -> None:
        if list(inputs) != ["text"]:
            raise ValueError(f"inputs: expected one named text. Received: {list(inputs)}")
        if inputs["text"].rules != target.rules or network.settings["vocabulary"] != target.rules.size:
            sizes = (inputs["text"].rules.size, target.rules.size, network.settings["vocabulary"])
            raise ValueError(f"target: expected the symbols of the text and of the network. Received: sizes {sizes}")
        target.refuse_backwards("a teller")
        super().__init__(network, inputs, target)

    @property
    def looks(self) -> Mapping[str, str]:
        """The symbols of the answer look at the text, where they are pointed at."""
        return {"text": TOKENS} if self.network.points else {}

    def infer(self, tensors: Tensors) -> Tensors:
        """The best symbol at every step; a row with nothing to read gets none."""
        memory, state = self.network.begin(tensors)
        places = row_lengths(tensors[IDS] != PAD)
        limits: dict[str, Any] = {
            "begin": BEGIN,
            "end": END,
            "max_length": self.target.limit,
            "row_lengths": places + MARGIN,
            "never": self.target.rules.unsayable,
        }
        found = greedy(self.network.step, state, memory, **limits)
        looked = {look + ATTENTION: found.attention for look in self.looks}
        said = {"tokens": found.tokens[:, None], "scores": found.scores[:, None]}
        return only_where(places > 0, {**said, **looked})

    def log_likelihood(self, answer: tf.Tensor, **raw: tf.Tensor) -> tf.Tensor:
        """Log-probability of each given answer: `[batch] -> [batch]`.

        Minus infinity for an answer with symbols that cannot be said, and for any answer to nothing.
        """
        tensors, _ = self.read(raw)
        found = likelihood(self, self.target, tensors, row_lengths(tensors[IDS] != PAD), answer)
        return tf.where(found > NEVER / 2, found, -float("inf"))

    def heads(self, row: Any) -> tuple[list[str], list[str], dict[str, np.ndarray]]:
        """The symbols that are read, those that are said, and the gates of the cell at each of these steps.

        Of a memory cell, `write` and `read` `[steps, slots]` are where its heads were.
        """
        [answer], field = self.answer([row]), self.inputs["text"]
        [[value]] = columns([row], list(self.inputs)).values()
        read = [
            (name, number)
            for name, number in zip(field.places(value), field.arrays(value)["ids"], strict=True)
            if number
        ]
        said = [*(self.target.rules.ids[token] for token in answer.tokens), END]
        shifted = tf.constant([[BEGIN, *said[:-1]]])
        with watch_gates() as seen:
            self.network({IDS: tf.constant([[number for _, number in read]], tf.int32), SHIFTED: shifted})
        gates = {name: np.concatenate([part[name] for _, part in seen]) for name in seen[0][1]}
        return [name for name, _ in read], [*answer.tokens, "end"], gates

    def explain(self, row: Any, look: str = "") -> Any:
        """Where each symbol was pointed at; or the slots of the memory that were written and read, step by step."""
        if self.network.points or self.network.settings["cell"] != "memory" or not self.answer([row])[0].tokens:
            return super().explain(row, look)
        heard, said, gates = self.heads(row)
        return draw_memory(gates["write"], gates["read"], heard, said, title=self.title(row))
