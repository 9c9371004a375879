"""The base class of targets: the form of a model's answers, in plain Python, so that a device can import it.

A model computes named outputs, and a target turns them into an answer. The first axis of every output is the batch. One
output is always `scores [batch, answers]`: the log-probability of each answer, best first. A score of minus infinity
means that there is no answer.
"""

import abc
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from seqattn_tf.core.registry import Registered


class Target(Registered, abc.ABC):
    """The form of a model's answers.

    Its counterpart, the `outputs.GraphTarget` of the same name, is used in training and does the same inside a
    TensorFlow graph; a test checks that both agree.

    Attributes:
        names: The names of the outputs besides `scores`: `(tokens,)`, `(labels,)`, ...
        limit: The maximum number of symbols of an answer; None for no limit.
    """

    registry: ClassVar[dict[str, type]] = {}
    names: ClassVar[tuple[str, ...]]
    limit: int | None = None

    @abc.abstractmethod
    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """Convert one expected answer to arrays for training.

        Raises:
            ValueError: If this target cannot produce the answer.
        """

    def normalize(self, value: Any) -> str:
        """Return an expected answer in the form in which this target would produce it, for comparison with answers."""
        return str(value)

    def decode_row(self, given: Mapping[str, np.ndarray], answers: int, look: str) -> Mapping[str, np.ndarray]:
        """Return the outputs of one row from those of a network in LiteRT.

        Outputs are returned unchanged; potentials, which the network leaves to the host, are decoded.

        Args:
            given: The potentials if the network ends in a structure, otherwise the outputs themselves.
            answers: The number of best answers to compute.
            look: The name of the input over whose positions the structure is defined.
        """
        return given

    @abc.abstractmethod
    def tokens(self, found: Mapping[str, np.ndarray], answer: int) -> list[str]:
        """Return the tokens of one of the answers to a row, from the outputs of this row."""

    def text(self, tokens: Sequence[str]) -> str:
        """Join tokens to a text."""
        return " ".join(tokens)

    def format_row(self, found: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Return `text`, `score`, `alternatives` and `tokens` of an `Answer` from the outputs of one row."""
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
        """Return the constructor arguments, in the form stored as JSON."""

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Target":
        """Create the target from its constructor arguments."""
        return cls(**config)


def save_target(target: Target) -> dict[str, Any]:
    """Return a description of a target that can be stored as JSON."""
    return {"target": target.name_in_registry, "config": target.get_config()}


def load_target(saved: Mapping[str, Any]) -> Target:
    """Create the target that `save_target` described."""
    return Target.member(saved["target"]).from_config(saved["config"])


def check_names(what: str, names: Sequence[str]) -> tuple[str, ...]:
    """Check the names in an answer: there must be at least one, none may be empty, and none may occur twice."""
    names = tuple(names)
    if not names or len(set(names)) != len(names) or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"{what}: expected unique names. Received: {names!r:.80}")
    return names
