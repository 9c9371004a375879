"""Every form of a model gives the Keras model's answers, on texts it has never seen."""

import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path

import tensorflow as tf

from seqattn_tf.export.lite_runtime import LiteModel
from seqattn_tf.models import Model
from seqattn_tf.text import SymbolRules

LITE_SHARE = 0.996  # of the texts on which LiteRT must agree: its float kernels round otherwise, and near ties turn


@dataclasses.dataclass(frozen=True)
class Agreement:
    """On how many of the texts each form said what the Keras model said."""

    texts: int
    saved_model: int
    lite: int

    def check(self) -> None:
        """Refuse an export that says something else."""
        if self.saved_model < self.texts:
            raise ValueError(
                f"SavedModel: expected the Keras model's {self.texts} answers. Received: {self.saved_model}"
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
    served = tf.saved_model.load(str(saved_model)).signatures["serving_default"](text=tf.constant(list(texts)))
    from_server = [text.decode() for text in served["text"].numpy()]
    from_edge = [answer.text for answer in LiteModel(lite).answer(texts)]
    counts = (sum(a == b for a, b in zip(expected, other, strict=True)) for other in (from_server, from_edge))
    return Agreement(len(texts), *counts)
