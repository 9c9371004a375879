"""What a model says, and what it looked at: the same on a server, in Python and on the edge."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_NAMES = ("text", "score", "alternatives", "alternative_scores", "tokens")  # outputs that every model has
ATTENTION, ROWS, PLACES = "_attention", "_rows", "_places"  # what the outputs of a look end in
SHAPE = "_shape"  # what the output ends in that says how much of a part is no padding


@dataclasses.dataclass(frozen=True)
class Look:
    """Where a model looked: a weight for each place, for each row that looked."""

    weights: np.ndarray  # [rows, places], or [rows, height, width] over a grid
    rows: tuple[str, ...]  # what looked: tokens of the answer, words of another input, hops
    places: tuple[str, ...] = ()  # what was looked at; a grid has none


@dataclasses.dataclass(frozen=True)
class Answer:
    """One answer with its looks, each named after the input that was looked at."""

    text: str
    score: float  # log-probability; minus infinity where there was nothing to answer
    alternatives: tuple[tuple[str, float], ...] = ()  # other possible answers with their scores, best first
    tokens: tuple[str, ...] = ()  # of the answer
    looks: Mapping[str, Look] = dataclasses.field(default_factory=dict)
    parts: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # what else the model gives, by name

    @classmethod
    def from_outputs(cls, outputs: Mapping[str, np.ndarray], row: int) -> "Answer":
        """One row of the outputs of `serving_default`, its padding cut off; text may be `bytes` or `str`.

        Raises:
            ValueError: these are not the outputs of such a model.
        """
        if missing := [name for name in _NAMES if name not in outputs]:
            raise ValueError(f"outputs: expected {', '.join(_NAMES)}. Received: none named {', '.join(missing)}")
        scores = map(float, outputs["alternative_scores"][row])
        others = zip(map(_text, outputs["alternatives"][row]), scores, strict=True)
        looks = {name.removesuffix(ATTENTION) for name in outputs if name.endswith(ATTENTION)}
        looks = {name for name in looks if name + ROWS in outputs}
        of_looks = {name + end for name in looks for end in (ATTENTION, ROWS, PLACES)}
        return cls(
            text=_text(outputs["text"][row]),
            score=float(outputs["score"][row]),
            alternatives=tuple((text, score) for text, score in others if score > -math.inf),
            tokens=_texts(outputs["tokens"][row]),
            looks={name: _look(outputs, name, row) for name in sorted(looks)},
            parts={
                name: _part(outputs, name, row)
                for name in outputs
                if name not in {*_NAMES, *of_looks} and not (name.endswith(SHAPE) and name[: -len(SHAPE)] in outputs)
            },
        )


def _look(outputs: Mapping[str, np.ndarray], name: str, row: int) -> Look:
    weights, rows = np.asarray(outputs[name + ATTENTION][row]), _texts(outputs[name + ROWS][row])
    if weights.ndim == 3:
        return Look(weights[: len(rows)], rows)
    places = _texts(outputs[name + PLACES][row])
    return Look(weights[: len(rows), : len(places)], rows, places)


def _part(outputs: Mapping[str, np.ndarray], name: str, row: int) -> Any:
    sizes = outputs[name + SHAPE][row] if name + SHAPE in outputs else ()
    return outputs[name][row][tuple(slice(int(size)) for size in sizes)] if len(sizes) else outputs[name][row]


def _texts(values: Sequence[str | bytes]) -> tuple[str, ...]:
    """The texts up to the last that is not empty: what comes after is padding."""
    texts = [_text(value) for value in values]
    while texts and not texts[-1]:
        texts.pop()
    return tuple(texts)


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
