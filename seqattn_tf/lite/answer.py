"""The answer of a model with its attention maps, in the same form on a server, in Python and in LiteRT."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_NAMES = ("text", "score", "alternatives", "alternative_scores", "tokens")  # outputs of every model
ATTENTION, QUERIES, KEYS = "_attention", "_queries", "_keys"  # suffixes of the outputs of an attention map
SHAPE = "_shape"  # suffix of the output with the unpadded sizes of an extra output


@dataclasses.dataclass(frozen=True)
class AttentionMap:
    """The attention weights of a model: a weight for each position, for each query."""

    weights: np.ndarray  # [queries, keys], or [queries, height, width] over a grid
    queries: tuple[str, ...]  # tokens of the answer, words of another input, or hops
    keys: tuple[str, ...] = ()  # the positions attended to; empty for a grid


@dataclasses.dataclass(frozen=True)
class Answer:
    """One answer with its attention maps, each named after the input that it attends to."""

    text: str
    score: float  # log-probability; minus infinity if there was nothing to answer
    alternatives: tuple[tuple[str, float], ...] = ()  # other possible answers with their scores, best first
    tokens: tuple[str, ...] = ()  # the tokens of the answer
    attention: Mapping[str, AttentionMap] = dataclasses.field(default_factory=dict)
    extra: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # further outputs of the model, by name

    @classmethod
    def from_outputs(cls, outputs: Mapping[str, np.ndarray], row: int) -> "Answer":
        """Create the answer of one row from the outputs of `serving_default` and remove its padding.

        Texts may be `bytes` or `str`.

        Raises:
            ValueError: If the outputs are not those of such a model.
        """
        if missing := [name for name in _NAMES if name not in outputs]:
            raise ValueError(f"outputs: expected {', '.join(_NAMES)}. Received: no {', '.join(missing)}")
        scores = map(float, outputs["alternative_scores"][row])
        others = zip(map(_text, outputs["alternatives"][row]), scores, strict=True)
        looks = {name.removesuffix(ATTENTION) for name in outputs if name.endswith(ATTENTION)}
        looks = {name for name in looks if name + QUERIES in outputs}
        of_looks = {name + end for name in looks for end in (ATTENTION, QUERIES, KEYS)}
        return cls(
            text=_text(outputs["text"][row]),
            score=float(outputs["score"][row]),
            alternatives=tuple((text, score) for text, score in others if score > -math.inf),
            tokens=_texts(outputs["tokens"][row]),
            attention={name: _look(outputs, name, row) for name in sorted(looks)},
            extra={
                name: _part(outputs, name, row)
                for name in outputs
                if name not in {*_NAMES, *of_looks} and not (name.endswith(SHAPE) and name[: -len(SHAPE)] in outputs)
            },
        )


def to_outputs(answers: Sequence[Answer]) -> dict[str, np.ndarray]:
    """Return the outputs of `serving_default` for some answers, padded to the longest one; texts are `bytes`.

    This is the inverse of `Answer.from_outputs`.

    >>> outputs = to_outputs([Answer("b a", -0.5, tokens=("b", "a")), Answer("c", -0.1, tokens=("c",))])
    >>> outputs["tokens"].tolist()
    [[b'b', b'a'], [b'c', b'']]
    """
    alternatives = [[text for text, _ in answer.alternatives] for answer in answers]
    outputs = {
        "text": _padded([[answer.text] for answer in answers]).reshape(len(answers)),
        "score": np.array([answer.score for answer in answers], np.float32),
        "alternatives": _padded(alternatives),
        "alternative_scores": _stacked(
            [np.array([score for _, score in answer.alternatives]) for answer in answers], -math.inf
        ),
        "tokens": _padded([answer.tokens for answer in answers]),
    }
    for name in answers[0].attention if answers else ():
        looks = [answer.attention[name] for answer in answers]
        outputs[name + ATTENTION] = _stacked([look.weights for look in looks])
        outputs[name + QUERIES] = _padded([look.queries for look in looks])
        if looks[0].weights.ndim == 2:
            outputs[name + KEYS] = _padded([look.keys for look in looks])
    for name in answers[0].extra if answers else ():
        parts = [np.asarray(answer.extra[name]) for answer in answers]
        outputs[name] = _stacked(parts)
        outputs[name + SHAPE] = np.array([part.shape for part in parts], np.int32)
    return outputs


def _padded(rows: Sequence[Sequence[str]]) -> np.ndarray:
    """Return texts as an array of bytes, `[rows, longest row]`, padded with empty texts."""
    array = np.full([len(rows), max(map(len, rows), default=0)], b"", np.object_)
    for place, row in enumerate(rows):
        array[place, : len(row)] = [text.encode("utf-8", "replace") for text in row]
    return array


def _stacked(arrays: Sequence[np.ndarray], padding: float = 0.0) -> np.ndarray:
    """Return arrays of one rank as one array, each padded to the largest size of every axis."""
    sizes = np.max([array.shape for array in arrays], axis=0) if arrays else [0]
    stacked = np.full([len(arrays), *sizes], padding, np.float32)
    for place, array in enumerate(arrays):
        stacked[place][tuple(map(slice, array.shape))] = array
    return stacked


def _look(outputs: Mapping[str, np.ndarray], name: str, row: int) -> AttentionMap:
    weights, rows = np.asarray(outputs[name + ATTENTION][row]), _texts(outputs[name + QUERIES][row])
    if weights.ndim == 3:
        return AttentionMap(weights[: len(rows)], rows)
    places = _texts(outputs[name + KEYS][row])
    return AttentionMap(weights[: len(rows), : len(places)], rows, places)


def _part(outputs: Mapping[str, np.ndarray], name: str, row: int) -> Any:
    sizes = outputs[name + SHAPE][row] if name + SHAPE in outputs else ()
    return outputs[name][row][tuple(slice(int(size)) for size in sizes)] if len(sizes) else outputs[name][row]


def _texts(values: Sequence[str | bytes]) -> tuple[str, ...]:
    """Return the texts up to the last one that is not empty; empty texts after it are padding."""
    texts = [_text(value) for value in values]
    while texts and not texts[-1]:
        texts.pop()
    return tuple(texts)


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
