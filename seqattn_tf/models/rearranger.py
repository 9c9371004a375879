"""Models that map a text to symbols of the same vocabulary, by pointing at its symbols or by memorizing them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.core.masking import row_lengths
from seqattn_tf.decoding import greedy
from seqattn_tf.explain import draw_memory, row_title
from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.model_inputs import columns
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.lite.text.rules import BEGIN, END, PAD
from seqattn_tf.models.base import TOKENS, Model, Tensors, only_where
from seqattn_tf.models.networks.memory_cell import MemoryCellNetwork
from seqattn_tf.models.networks.pointing import IDS, NEVER, PointerNetwork
from seqattn_tf.models.seq2seq import MARGIN, likelihood
from seqattn_tf.outputs.symbols import SHIFTED
from seqattn_tf.recurrent.watch import watch_gates


class Rearranger(Model):
    """A model that repeats or reorders symbols with a `PointerNetwork` or `MemoryCellNetwork`, decoded greedily.

    Args:
        network: The Keras network.
        inputs: The input text.
        target: The target, with the same symbols as the input.

    >>> from seqattn_tf.lite.text import SymbolRules
    >>> rules = SymbolRules(("3", "4", "5"), tokenizer="spaces")
    >>> teller = Rearranger(PointerNetwork(rules.size, units=8), {"text": Text(rules)}, Symbols(rules))
    >>> set(teller.answer(["5 3 5"])[0].tokens) <= {"3", "5"}
    True
    """

    name_in_registry = "rearranger"
    target: Symbols
    signatures = {"log_likelihood": ("answer",)}

    def __init__(
        self, network: PointerNetwork | MemoryCellNetwork, inputs: Mapping[str, Text], target: Symbols
    ) -> None:
        if list(inputs) != ["text"]:
            raise ValueError(f"inputs: expected one input named text. Received: {list(inputs)}")
        if inputs["text"].rules != target.rules or network.settings["vocabulary"] != target.rules.size:
            sizes = (inputs["text"].rules.size, target.rules.size, network.settings["vocabulary"])
            raise ValueError(f"target: expected the symbols of the text and of the network. Received: sizes {sizes}")
        target.refuse_backwards("a pointer or memory network")
        super().__init__(network, inputs, target)

    @property
    def attention_maps(self) -> Mapping[str, str]:
        """The attention from the answer's symbols to the text, if the network points at its input."""
        return {"text": TOKENS} if self.network.points else {}

    def infer(self, tensors: Tensors) -> Tensors:
        """Take the best symbol at every step; a row with nothing to read gets an empty answer."""
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
        looked = {look + ATTENTION: found.attention for look in self.attention_maps}
        said = {"tokens": found.tokens[:, None], "scores": found.scores[:, None]}
        return only_where(places > 0, {**said, **looked})

    def log_likelihood(self, answer: tf.Tensor, **raw: tf.Tensor) -> tf.Tensor:
        """Return the log-probability of each given answer: `[batch] -> [batch]`.

        It is minus infinity for an answer with symbols that the model cannot generate, and for any answer to an empty
        input.
        """
        tensors, _ = self.read(raw)
        found = likelihood(self, self.target, tensors, row_lengths(tensors[IDS] != PAD), answer)
        return tf.where(found > NEVER / 2, found, -float("inf"))

    def heads(self, row: Any) -> tuple[list[str], list[str], dict[str, np.ndarray]]:
        """Return the symbols of the input, those of the answer, and the gates of the cell at each of these steps.

        With a memory cell, `write` and `read` `[steps, slots]` are the weights of its heads over the memory.
        """
        [answer], field = self.answer([row]), self.inputs["text"]
        [[value]] = columns([row], list(self.inputs)).values()
        read = [
            (name, number)
            for name, number in zip(field.positions(value), field.arrays(value)["ids"], strict=True)
            if number
        ]
        said = [*(self.target.rules.ids[token] for token in answer.tokens), END]
        shifted = tf.constant([[BEGIN, *said[:-1]]])
        with watch_gates() as seen:
            self.network({IDS: tf.constant([[number for _, number in read]], tf.int32), SHIFTED: shifted})
        gates = {name: np.concatenate([part[name] for _, part in seen]) for name in seen[0][1]}
        return [name for name, _ in read], [*answer.tokens, "end"], gates

    def explain(self, row: Any, look: str = "") -> Any:
        """Draw where each symbol was pointed at, or the memory slots that were written and read at each step."""
        if self.network.points or self.network.settings["cell"] != "memory" or not self.answer([row])[0].tokens:
            return super().explain(row, look)
        inputs, outputs, gates = self.heads(row)
        return draw_memory(gates["write"], gates["read"], inputs, outputs, title=row_title(self, row))
