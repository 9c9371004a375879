"""Every form of a model gives the Keras model's answers, on texts it has never seen.

The SavedModel is asked in TensorFlow's C++ loader (`cpp_loader`), in a process without Keras, through every signature.
"""

import dataclasses
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from seqattn_tf.export import cpp_loader, meta_graph
from seqattn_tf.export.lite_runtime import LiteModel
from seqattn_tf.export.signatures import forms
from seqattn_tf.models import Model
from seqattn_tf.text import SymbolRules

LITE_SHARE = 0.996  # of the texts on which LiteRT must agree: its float kernels round otherwise, and near ties turn
TOLERANCE = 1e-4  # of the SavedModel's numbers, absolute and relative: TensorFlow rewrites a graph before it runs

Tensors = Mapping[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Agreement:
    """On how many of the texts each form said what the Keras model said."""

    texts: int
    saved_model: int  # by every output of every signature
    lite: int
    fault: str = ""  # where the SavedModel first said something else

    def check(self) -> None:
        """Refuse an export that says something else."""
        if self.saved_model < self.texts:
            raise ValueError(
                f"SavedModel: expected the Keras model's {self.texts} answers. "
                f"Received: {self.saved_model} of them; {self.fault}"
            )
        if self.lite < LITE_SHARE * self.texts:
            raise ValueError(f"LiteRT: expected {LITE_SHARE:.1%} of the {self.texts} answers. Received: {self.lite}")


def fresh_texts(rules: SymbolRules, count: int, seed: int = 0) -> list[str]:
    """Made-up texts of 1 to 12 of the given symbols.

    >>> fresh_texts(SymbolRules(("a",)), 2, seed=1)
    ['aaa', 'aa']
    """
    generator = random.Random(seed)
    ids = range(len(rules.special), rules.size)
    return [rules.decode(generator.choices(ids, k=generator.randint(1, 12))) for _ in range(count)]


def verify(model: Model, saved_model: Path, lite: Path, texts: Sequence[str]) -> Agreement:
    """Ask all three forms the same texts and count."""
    expected = [answer.text for answer in model.answer(texts)]
    from_edge = [answer.text for answer in LiteModel(lite).answer(texts)]
    agreeing, fault = compare_saved_model(model, saved_model, texts)
    on_edge = sum(a == b for a, b in zip(expected, from_edge, strict=True))
    return Agreement(len(texts), int(agreeing.sum()), on_edge, fault)


def compare_saved_model(model: Model, folder: Path, texts: Sequence[str]) -> tuple[np.ndarray, str]:
    """For each text whether every signature says of it what the Keras model says, and the first difference in words."""
    questions = questions_about(model, texts)
    said = {name: _run(form, questions[name]) for name, form in forms(model).items()}
    agreeing, fault = np.ones(len(texts), bool), ""
    for name, found in ask_signatures(folder, questions).items():
        for alias, expected in said[name].items():
            same = _same_rows(expected, found[alias])
            if not same.all() and not fault:
                row = int(np.argmin(same))
                fault = f"{name} gives another {alias} for {texts[row]!r}"
            agreeing &= same
    return agreeing, fault


def questions_about(model: Model, texts: Sequence[str]) -> dict[str, Tensors]:
    """Inputs of every signature that ask about the same texts; `log_likelihood` is asked for the model's answers."""
    strings = tf.constant(list(texts))
    read = model.preprocess(strings)
    lengths = tf.reduce_sum(tf.cast(read["tokens"] != "", tf.int32), axis=1)
    answers = tf.constant([answer.text for answer in model.answer(texts)])
    asked = {
        "serving_default": {"text": strings},
        "tensors": {"ids": read["ids"], "lengths": lengths},
        "log_likelihood": {"text": strings, "answer": answers},
    }
    return {name: {alias: value.numpy() for alias, value in inputs.items()} for name, inputs in asked.items()}


def ask_signatures(folder: Path, questions: Mapping[str, Tensors], python: str = sys.executable) -> dict[str, Tensors]:
    """What a SavedModel answers under each signature, in TensorFlow's C++ loader and a process of its own.

    Args:
        folder: holds `saved_model.pb`.
        questions: inputs by signature.
        python: the interpreter of that process; see `cpp_loader.ask`.

    Raises:
        ValueError: it does not load, or a signature fails; with TensorFlow's words.
    """
    signatures = meta_graph.read(folder).signature_def
    asks = []
    for name, inputs in questions.items():
        feeds = [(signatures[name].inputs[alias].name, value) for alias, value in inputs.items()]
        asks.append(cpp_loader.Ask(feeds, [info.name for info in signatures[name].outputs.values()]))
    answers = {}
    for name, told in zip(questions, cpp_loader.ask(folder, asks, python=python), strict=True):
        if told.code:
            raise ValueError(f"SavedModel: expected an answer of signature {name}. Received: {told.message}")
        answers[name] = dict(zip(signatures[name].outputs, told.arrays, strict=True))
    return answers


def _run(form: object, inputs: Tensors) -> dict[str, np.ndarray]:
    tensors = {alias: tf.constant(value) for alias, value in inputs.items()}
    return {alias: np.asarray(value) for alias, value in form(**tensors).items()}


def _same_rows(expected: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Whether each row is the same, decimals within the tolerance: `[rows]`."""
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return np.zeros(len(expected), bool)
    if expected.dtype.kind == "f":
        same = np.isclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE)
    else:
        same = found == expected
    return same.reshape(len(expected), -1).all(axis=1)
