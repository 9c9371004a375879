"""Language models, which return a text with its continuation."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.core.scan import size_of
from seqattn_tf.decoding import beam as search
from seqattn_tf.decoding import greedy
from seqattn_tf.decoding.loop import generate
from seqattn_tf.decoding.rules import Rules
from seqattn_tf.decoding.sample import drawing
from seqattn_tf.explain import draw_surprise, row_title
from seqattn_tf.inputs.text import at_most
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.model_inputs import columns
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.lite.text.rules import BEGIN, END, PAD, as_texts
from seqattn_tf.models.base import Model, Tensors, one_per_row
from seqattn_tf.models.draws import keys_of, noise
from seqattn_tf.models.networks.language import LanguageNetwork, Nothing
from seqattn_tf.outputs.symbols import SHIFTED


class LanguageModel(Model):
    """A model that continues texts with a `LanguageNetwork`.

    The answer to a text consists of the text as read by the model and its continuation; the score is the
    log-probability of the continuation. Symbols outside the vocabulary are not part of the answer. With the same seed,
    a text always gets the same answer, whatever the other texts in the batch.

    Args:
        network: The Keras network.
        inputs: The text to continue, by name.
        target: The target, with the same symbols; its limit is the maximum number of added symbols.
        temperature, top_k, top_p: The sampling parameters, see `decoding.sample`; a temperature of 0 selects the most
            probable symbol.
        seed: The seed for sampling.
        beam_width: If above 0, the width of a beam search for the most probable continuation, used in place of
            sampling.

    >>> from seqattn_tf.lite.text import SymbolRules
    >>> rules = SymbolRules(("a", "b"))
    >>> network = LanguageNetwork(rules.size, units=8)
    >>> [answer] = LanguageModel(network, {"text": Text(rules)}, Symbols(rules, limit=4)).answer(["ab"])
    >>> answer.text.startswith("ab")
    True
    """

    name_in_registry = "language_model"
    source: Text
    target: Symbols
    signatures = {"log_likelihood": ("answer",)}

    def __init__(
        self,
        network: LanguageNetwork,
        inputs: Mapping[str, Text],
        target: Symbols,
        *,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        beam_width: int = 0,
    ) -> None:
        if not 0 <= temperature < math.inf:
            raise ValueError(f"temperature: expected a number of at least 0. Received: {temperature}")
        if not 0 < top_p <= 1:
            raise ValueError(f"top_p: expected a number above 0, at most 1. Received: {top_p}")
        for name, value in (("top_k", top_k), ("beam_width", beam_width)):
            if value < 0:
                raise ValueError(f"{name}: expected at least 0. Received: {value}")
        self.temperature, self.top_k, self.top_p, self.seed, self.beam_width = (
            temperature,
            top_k,
            top_p,
            seed,
            beam_width,
        )
        target.refuse_backwards("a language model")
        super().__init__(network, inputs, target)
        [(self.input_name, self.source)] = inputs.items()
        self.rules = target.rules
        ids = tf.TensorSpec([None, None], tf.int32)
        self._lost = tf.function(self._surprises, input_signature=[ids, ids], autograph=False)
        self._held = tf.function(lambda ids: self.network.states(ids), input_signature=[ids], autograph=False)

    def _named(self, ids: tf.Tensor) -> tf.Tensor:
        """Replace special ids by padding."""
        return tf.where(ids >= len(self.rules.special), ids, PAD)

    def infer(self, tensors: Tensors) -> Tensors:
        """Continue each prompt and return the whole text; an empty prompt is continued from the begin symbol."""
        ids = tensors[f"{self.input_name}_ids"]
        tokens, scores = self._continue(packed(ids))
        whole = packed(tf.concat([self._named(ids), tokens], axis=1))
        return {"tokens": whole[:, None], "scores": scores[:, None]}

    def _continue(self, prompt: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the continuation of packed prompts `[batch, source]` and its log-probability.

        All symbols of a prompt but the last are read at once; the last one is the input of the first step.
        """
        batch, keys = tf.shape(prompt)[0], keys_of(prompt, self.seed)
        prompt = tf.pad(prompt, [[0, 0], [1, 0]], constant_values=BEGIN)
        last = tf.reduce_sum(tf.cast(prompt != PAD, tf.int32), axis=1) - 1
        states = self.network.read(prompt, tf.range(tf.shape(prompt)[1]) < last[:, None])
        memory, _ = self.network.begin(batch)
        state = (tf.gather(prompt, last, batch_dims=1), states)

        def step(tokens: tf.Tensor, state: tuple, memory: Nothing) -> tuple:
            given, states = state
            tokens = tf.where(given != PAD, given, tokens)
            logits, weights, states = self.network.step(tokens, states, memory)
            return logits, weights, (tf.zeros_like(given), states)

        limits: dict[str, Any] = {
            "begin": BEGIN,
            "end": END,
            "max_length": self.target.limit,
            "never": self.rules.unsayable,
        }
        if self.beam_width > 0:
            beams = search(step, state, memory, width=self.beam_width, **limits)
            return beams.tokens[:, 0], beams.scores[:, 0]
        if self.temperature == 0:
            found = greedy(step, state, memory, **limits)
        else:
            choose = drawing(
                self.temperature, self.top_k, self.top_p, lambda left, time: noise(size_of(left, -1), keys, time)
            )
            found = generate(step, choose, state, memory, Rules(**limits))
        return found.tokens, found.scores

    def _surprises(self, tokens: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
        """Return the surprise in nats of each target given the tokens so far: `[batch, time] x 2 -> [batch, time]`."""
        logits = tf.cast(self.network({SHIFTED: tokens}, training=False), tf.float32)
        return tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)

    def log_likelihood(self, answer: tf.Tensor, **raw: tf.Tensor) -> tf.Tensor:
        """Return the log-probability that each text continues to the given whole text and ends: `[batch] -> [batch]`.

        It is minus infinity for an answer that does not start with the known symbols of the text, or that contains
        symbols the model cannot generate.
        """
        prompt = self.read(raw)[0][f"{self.input_name}_ids"]
        symbols = self.graph_target.tokenizer
        cut = symbols.cut(one_per_row(answer, tf.shape(prompt)[0]))
        tokens = at_most(self.source.limit + self.target.limit, cut, "answer")
        whole, size = symbols.lookup(tokens), tf.shape(prompt)[1]
        room = tf.pad(whole, [[0, 0], [0, size]])  # the prompt may be longer than the answer
        expected = packed(self._named(prompt))
        known = tf.reduce_sum(tf.cast(expected != PAD, tf.int32), axis=1)
        begins = tf.reduce_all((room[:, :size] == expected) | (expected == PAD), axis=1)
        places = known[:, None] + tf.range(tf.shape(whole)[1])
        after = tf.gather(room, tf.minimum(places, tf.shape(room)[1] - 1), batch_dims=1)  # [batch, answer]
        row = packed(tf.concat([prompt, after], axis=1))
        end = tf.reduce_sum(tf.cast(row != PAD, tf.int32), axis=1)
        start = tf.reduce_sum(tf.cast(prompt != PAD, tf.int32), axis=1)
        shifted = tf.pad(row, [[0, 0], [1, 0]], constant_values=BEGIN)
        places = tf.range(tf.shape(shifted)[1])
        targets = tf.where(places == end[:, None], END, tf.pad(row, [[0, 0], [0, 1]]))
        counted = (places >= start[:, None]) & (places <= end[:, None])
        total = -tf.reduce_sum(tf.where(counted, self._surprises(shifted, targets), 0.0), axis=1)
        sayable = tf.reduce_all((tokens == "") | (self._named(whole) != PAD), axis=1)
        return tf.where(begins & sayable, total, -float("inf"))

    def measure(self, texts: Iterable[str], window: int = 0, batch_size: int = 64) -> tuple[float, int]:
        """Return the total surprise in nats and the number of scored symbols, with the arguments of `surprises`."""
        nats, symbols = self.surprises(texts, window, batch_size).sum(axis=0)
        return float(nats), int(symbols)

    def surprises(self, texts: Iterable[str], window: int = 0, batch_size: int = 64) -> np.ndarray:
        """Return the surprise in nats and the number of scored symbols of each row, `[rows, 2]`.

        A row is a sentence or a segment of a continuous stream.

        The surprise is infinite for a text with symbols that have no id.

        Args:
            texts: Without a window, sentences: each is scored from its beginning, and its end counts as a symbol. With
                a window, continuous streams to which no end symbol is added (see `stream`): every symbol is scored
                once, in a segment of at most `window` symbols whose first half is only context (in the first segment
                of a stream all symbols are scored), so that every later symbol has at least half a window of context.
            window: 0, or an even number of symbols.
            batch_size: The number of rows per batch.
        """
        if window < 0 or window % 2:
            raise ValueError(f"window: expected 0 or an even number. Received: {window}")
        rows: list[tuple[Sequence[int], int]] = []  # ids, and how many of them are only context
        for text in as_texts(texts):
            if window:
                ids, half = self.stream(text), window // 2
                rows += [(ids[:window], 0)] if ids else []
                rows += [(ids[i : i + window], half) for i in range(half, len(ids) - half, half)]
            else:
                rows.append(([*self.rules.encode(text), END], 0))
        found = np.array([[0.0, len(ids) - read] for ids, read in rows]).reshape(-1, 2)
        order = np.argsort([len(ids) for ids, _ in rows], kind="stable")
        for chosen in np.split(order, range(batch_size, len(rows), batch_size)):
            part = [rows[number] for number in chosen]
            targets = np.zeros([len(part), max(len(ids) for ids, _ in part)], np.int32)
            counted = np.zeros(targets.shape, bool)
            for i, (ids, read) in enumerate(part):
                targets[i, : len(ids)] = ids
                counted[i, read : len(ids)] = True
            lost = self._lost(np.pad(targets, [[0, 0], [1, 0]], constant_values=BEGIN)[:, :-1], targets).numpy()
            lost[counted & (targets == PAD)] = np.inf
            found[chosen, 0] = np.where(counted, lost, 0).sum(axis=1, dtype=np.float64)
        return found

    def stream(self, text: str) -> Sequence[int]:
        """Return the ids of a continuous text.

        A tokenizer of plain characters keeps all of them, even spaces at the ends.
        """
        return [self.rules.ids.get(symbol, self.rules.default) for symbol in self._symbols(text)]

    def _symbols(self, text: str) -> list[str]:
        whole = self.rules.tokenizer == "characters" and not (self.rules.lowercase or self.rules.strip_accents)
        return list(text) if whole else self.rules.tokens(text)

    def states(self, text: str) -> tuple[list[str], list[list[np.ndarray]]]:
        """Return the symbols of a text and the states of every layer after each of them, `[symbols, units]` each.

        An LSTM layer has two states, its output and its memory.

        >>> from seqattn_tf.lite.text import SymbolRules
        >>> rules = SymbolRules(("a", "b"))
        >>> model = LanguageModel(LanguageNetwork(rules.size, units=8), {"text": Text(rules)}, Symbols(rules))
        >>> symbols, [[outputs, memory]] = model.states("abba")
        >>> symbols, memory.shape
        (['a', 'b', 'b', 'a'], (4, 8))
        """
        [text] = as_texts([text])
        states = self._held(np.array([[BEGIN, *self.stream(text)]], np.int32))
        return self._symbols(text), tf.nest.map_structure(lambda state: state[0, 1:].numpy(), states)

    def explain(self, row: Any, look: str = "") -> Any:
        """Draw the answer to a text as tiles, colored by how surprising each symbol was."""
        [answer] = self.answer([row])
        ids = np.array([[self.rules.ids[token] for token in answer.tokens]], np.int32).reshape([1, -1])
        lost = self._lost(np.pad(ids, [[0, 0], [1, 0]], constant_values=BEGIN)[:, :-1], ids).numpy()[0]
        [[value]] = columns([row], [self.input_name]).values()
        given = sum(token in self.rules.ids for token in self.source.tokens(value))
        return draw_surprise(answer.tokens, lost / math.log(2), given=given, title=row_title(self, row))


def packed(ids: tf.Tensor) -> tf.Tensor:
    """Move the ids that are not padding to the front of their rows: `[batch, length] -> [batch, length]`.

    >>> packed(tf.constant([[0, 5, 0, 7], [1, 0, 0, 0]])).numpy().tolist()
    [[5, 7, 0, 0], [1, 0, 0, 0]]
    """
    batch, length = tf.shape(ids)[0], tf.shape(ids)[1]
    kept = ids != PAD
    places = tf.where(kept, tf.cumsum(tf.cast(kept, tf.int32), axis=1) - 1, length)
    rows = tf.broadcast_to(tf.range(batch)[:, None], tf.shape(ids))
    return tf.scatter_nd(tf.stack([rows, places], axis=-1), ids, tf.stack([batch, length + 1]))[:, :-1]
