"""The contract of a target: what comes out of a model, in plain Python, so that a device can import it.

A model *finds* numbers, a target *says* them. What is found has names and, first, the axis of the batch; `scores
[batch, answers]` is always among it: the log-probability of each answer, the best first. An answer with a score of
minus infinity is none.
"""

import abc
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from seqattn_tf.core.registry import Registered


class Target(Registered, abc.ABC):
    """What a model says.

    Its twin, the `outputs.GraphTarget` of the same name, learns, and says the same inside a TensorFlow graph; a test
    holds the two together.

    Attributes:
        names: of what is found beside `scores`: `(tokens,)`, `(labels,)`, ...
        limit: the most symbols of an answer; None for any number.
    """

    registry: ClassVar[dict[str, type]] = {}
    names: ClassVar[tuple[str, ...]]
    limit: int | None = None

    @abc.abstractmethod
    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """One right answer as numbers, for training.

        Raises:
            ValueError: it is none that this target can say.
        """

    def said(self, value: Any) -> str:
        """A right answer as this target would say it: what answers are held against."""
        return str(value)

    def decide_row(self, given: Mapping[str, np.ndarray], answers: int, look: str) -> Mapping[str, np.ndarray]:
        """What is found in one row of what a network gives on a device; that itself, unless it is left to the host.

        Args:
            given: the potentials, where structure ends the network, else what was found.
            answers: how many of the best to find.
            look: the name of the input whose places are decided about.
        """
        return given

    @abc.abstractmethod
    def tokens(self, found: Mapping[str, np.ndarray], answer: int) -> list[str]:
        """The tokens of one answer to one row of what was found."""

    def text(self, tokens: Sequence[str]) -> str:
        """The text of tokens."""
        return " ".join(tokens)

    def say_row(self, found: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """`text`, `score`, `alternatives` and `tokens` of an `Answer`, from one row of what was found."""
        scores = [float(score) for score in found["scores"]]
        said = [self.tokens(found, i) if score > -math.inf else [] for i, score in enumerate(scores)]
        others = zip(said[1:], scores[1:], strict=True)
        return {
            "text": self.text(said[0]),
            "score": scores[0],
            "alternatives": tuple((self.text(tokens), score) for tokens, score in others if score > -math.inf),
            "tokens": tuple(said[0]),
        }

    @abc.abstractmethod
    def get_config(self) -> dict[str, Any]:
        """Constructor arguments, as JSON holds them."""

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Target":
        """The target of these constructor arguments."""
        return cls(**config)


def save_target(target: Target) -> dict[str, Any]:
    """A target as JSON holds it."""
    return {"target": target.name_in_registry, "config": target.get_config()}


def load_target(saved: Mapping[str, Any]) -> Target:
    """The target that `save_target` described."""
    return Target.member(saved["target"]).from_config(saved["config"])


def check_names(what: str, names: Sequence[str]) -> tuple[str, ...]:
    """Names of what can be said: at least one, none empty, none twice."""
    names = tuple(names)
    if not names or len(set(names)) != len(names) or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"{what}: expected names, each once. Received: {names!r:.80}")
    return names
