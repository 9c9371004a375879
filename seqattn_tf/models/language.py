"""Language models: a text in, the same text and how it goes on out."""

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
from seqattn_tf.explain.surprise import draw_surprise
from seqattn_tf.inputs.text import at_most
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.model_inputs import columns
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.lite.text.rules import BEGIN, END, PAD, as_texts
from seqattn_tf.models.base import Model, Tensors, one_each
from seqattn_tf.models.draws import keys_of, noise
from seqattn_tf.models.networks.language import LanguageNetwork, Nothing
from seqattn_tf.outputs.symbols import SHIFTED


class LanguageModel(Model):
    """Texts that go on, by a `LanguageNetwork`.

    The answer to a text is the whole of it, as the model reads it, and what comes after; its score is the
    log-probability of what comes after. Symbols that the model does not know are not in the answer. One seed gives one
    answer to a text, whatever the other texts of a batch.

    Args:
        network: the Keras network.
        inputs: the text to go on from, by name.
        target: the same symbols; its limit is how many are added at most.
        temperature, top_k, top_p: of sampling, see `decoding.sample`; a temperature of 0 takes the best symbol.
        seed: of sampling.
        beam_width: above 0, no sampling but a search for the most probable continuation, this wide.

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
        """The ids with padding in place of special ones."""
        return tf.where(ids >= len(self.rules.special), ids, PAD)

    def infer(self, tensors: Tensors) -> Tensors:
        """Prompts to whole texts; a text with nothing to read is begun anew."""
        ids = tensors[f"{self.input_name}_ids"]
        tokens, scores = self._continue(packed(ids))
        whole = packed(tf.concat([self._named(ids), tokens], axis=1))
        return {"tokens": whole[:, None], "scores": scores[:, None]}

    def _continue(self, prompt: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """What comes after packed prompts `[batch, source]`, and its log-probability.

        All of a prompt but its last symbol is read at once; that one is what the first step sees.
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
        """Nats of each target, given the tokens up to its place: `[batch, time] x 2 -> [batch, time]`."""
        logits = tf.cast(self.network({SHIFTED: tokens}, training=False), tf.float32)
        return tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)

    def log_likelihood(self, answer: tf.Tensor, **raw: tf.Tensor) -> tf.Tensor:
        """Log-probability that each text goes on to the given whole text, and ends there: `[batch] -> [batch]`.

        Minus infinity for an answer that does not begin as the text does, as far as the model knows its symbols, or
        that has symbols the model cannot say.
        """
        prompt = self.read(raw)[0][f"{self.input_name}_ids"]
        symbols = self.says.tokenizer
        cut = symbols.cut(one_each(answer, tf.shape(prompt)[0]))
        tokens = at_most(self.source.limit + self.target.limit, cut, "answer")
        whole, size = symbols.lookup(tokens), tf.shape(prompt)[1]
        room = tf.pad(whole, [[0, 0], [0, size]])  # the prompt may be longer
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
        """Total surprise in nats and number of symbols it is the surprise at: for perplexity, and bits.

        Args:
            texts: without a window, sentences: each from its beginning, its end counted as a symbol. With one, streams
                without an end, their characters as they are: every symbol is scored once, in a stretch of at most
                `window` symbols of which the first half are only read (all count in a stream's first stretch), so that
                there are always half a window of symbols before.
            window: 0, or an even number.
            batch_size: rows at a time.

        Infinite for a text with symbols that have no id.
        """
        if window < 0 or window % 2:
            raise ValueError(f"window: expected 0 or an even number. Received: {window}")
        rows: list[tuple[Sequence[int], int]] = []  # ids, and how many of them are only read
        for text in as_texts(texts):
            if window:
                ids, half = self.stream(text), window // 2
                rows += [(ids[:window], 0)] if ids else []
                rows += [(ids[i : i + window], half) for i in range(half, len(ids) - half, half)]
            else:
                rows.append(([*self.rules.encode(text), END], 0))
        rows.sort(key=lambda row: len(row[0]))
        total = 0.0
        for start in range(0, len(rows), batch_size):
            part = rows[start : start + batch_size]
            targets = np.zeros([len(part), max(len(ids) for ids, _ in part)], np.int32)
            counted = np.zeros(targets.shape, bool)
            for i, (ids, read) in enumerate(part):
                targets[i, : len(ids)] = ids
                counted[i, read : len(ids)] = True
            lost = self._lost(np.pad(targets, [[0, 0], [1, 0]], constant_values=BEGIN)[:, :-1], targets).numpy()
            lost[counted & (targets == PAD)] = np.inf
            total += float(lost[counted].sum(dtype=np.float64))
        return total, sum(len(ids) - read for ids, read in rows)

    def stream(self, text: str) -> Sequence[int]:
        """The ids of a text that goes on: of single characters none is lost, as spaces at the ends of others are."""
        return [self.rules.ids.get(symbol, self.rules.default) for symbol in self._symbols(text)]

    def _symbols(self, text: str) -> list[str]:
        whole = self.rules.split == "characters" and not self.rules.fold
        return list(text) if whole else self.rules.tokens(text)

    def states(self, text: str) -> tuple[list[str], list[list[np.ndarray]]]:
        """The symbols of a text, and what every layer holds after each of them: its states, `[symbols, units]` each.

        A layer of LSTM has two, its output and its memory.

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
        """The answer to a text as tiles, the more coloured the more surprising each symbol was."""
        [answer] = self.answer([row])
        ids = np.array([[self.rules.ids[token] for token in answer.tokens]], np.int32).reshape([1, -1])
        lost = self._lost(np.pad(ids, [[0, 0], [1, 0]], constant_values=BEGIN)[:, :-1], ids).numpy()[0]
        [[value]] = columns([row], [self.input_name]).values()
        given = sum(token in self.rules.ids for token in self.source.tokens(value))
        return draw_surprise(answer.tokens, lost / math.log(2), given=given, title=self.title(row))


def packed(ids: tf.Tensor) -> tf.Tensor:
    """The ids that are not padding moved to the front of their rows: `[batch, length] -> [batch, length]`.

    >>> packed(tf.constant([[0, 5, 0, 7], [1, 0, 0, 0]])).numpy().tolist()
    [[5, 7, 0, 0], [1, 0, 0, 0]]
    """
    batch, length = tf.shape(ids)[0], tf.shape(ids)[1]
    kept = ids != PAD
    places = tf.where(kept, tf.cumsum(tf.cast(kept, tf.int32), axis=1) - 1, length)
    rows = tf.broadcast_to(tf.range(batch)[:, None], tf.shape(ids))
    return tf.scatter_nd(tf.stack([rows, places], axis=-1), ids, tf.stack([batch, length + 1]))[:, :-1]
