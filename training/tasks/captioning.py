"""Pictures to sentences."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.core.columns import Column, ColumnGroup, RaggedColumn
from seqattn_tf.core.registry import arguments_of
from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.models import Captioner, CaptionNetwork
from seqattn_tf.models.networks.caption import REGIONS
from seqattn_tf.training.data import Example, Examples
from seqattn_tf.training.maps import given
from seqattn_tf.training.tasks.base import Report, parse_fold, refuse_few, without_beam
from seqattn_tf.training.tasks.seeing import PICTURE, SeeingSettings, SeeingTask
from seqattn_tf.training.tasks.settings import EmbeddingSettings, SearchSettings, setting

Box = tuple[float, float, float, float]  # left, top, right and bottom, as shares of a picture


@dataclasses.dataclass(frozen=True)
class CaptionSettings(SearchSettings, EmbeddingSettings, SeeingSettings):
    """Settings of a captioner."""

    conditioning: str = setting("soft", "what the decoder sees of the picture: state, input, soft, hard")
    penalty: float = setting(0.0, "how much every cell is to be looked at once in all")
    supervise: float = setting(0.0, "how much words are told where to look, where the data know")
    entropy: float = setting(0.01, "how curious hard attention draws")
    reward: float = setting(1.0, "how much hard attention learns from what it drew")
    expected: float = setting(0.5, "how often hard attention reads the mean of all cells, in training")
    gate: bool = setting(True, "whether the decoder says how much of what it looked at is read")
    target_split: str = setting("words", "what a symbol of a caption is: words, subwords, characters, spaces")
    fold: str = setting("", "what to ignore in captions, and say without: case, or all (case and accents)")
    vocabulary: int = setting(0, "symbols, at most; 0 for all")
    min_count: int = setting(1, "how often a symbol is seen to be known")
    max_target: int = setting(40, "symbols; a longer caption is cut, and not learned from")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_less(1, "max_target", "min_count")


@dataclasses.dataclass(frozen=True)
class CaptionTask(SeeingTask[CaptionSettings, Captioner]):
    """Training of a `Captioner`; where the data know what each word names, also how much attention lies on it."""

    def build(self, settings: CaptionSettings, train: Examples) -> Captioner:
        """The words of the training captions, and a network of their number."""
        limits: dict[str, Any] = {"vocabulary": settings.vocabulary, "min_count": settings.min_count}
        cut: dict[str, Any] = {"split": settings.target_split, "fold": parse_fold(settings.fold)}
        target = Symbols.learn(train.targets, limit=settings.max_target, **cut, **limits)
        refuse_few(target.rules, "vocabulary of the captions")
        losses = {name: getattr(settings, name) for name in ("penalty", "supervise", "entropy", "reward")}
        sizes = arguments_of(CaptionNetwork.of_pictures, settings) | {"embedding_dropout": settings.embedding_rate}
        network = CaptionNetwork.of_pictures(settings.make_encoder(), target.rules.size, **sizes, **losses)
        image = settings.make_image()
        return Captioner(network, {PICTURE: image}, target, max_length_ratio=0, **arguments_of(Captioner, settings))

    def check_student(self, settings: CaptionSettings) -> None:
        """Only of captions of the data is it known where their words should look."""
        if settings.supervise:
            raise ValueError(f"supervise: expected 0 of a student. Received: {settings.supervise}")

    def inputs(self, model: Captioner, examples: Examples) -> dict[str, Column]:
        """The pictures or their maps, and where words should look, if they are told."""
        found = super().inputs(model, examples)
        if model.network.supervise:
            found[PICTURE] = ColumnGroup([found[PICTURE], _regions_column(model, examples)])
        return found

    def quick(self, model: Captioner) -> Captioner:
        """The same without a beam."""
        return without_beam(model)

    def judge(
        self,
        model: Captioner,
        found: Mapping[str, Answer],
        examples: Sequence[Example],
        notes: Mapping[str, str] | None = None,
    ) -> Report:
        """The figures of the captions, and of the looks of those that are right."""
        report = super().judge(model, found, examples, notes)
        return dataclasses.replace(report, figures={**report.figures, **looked_inside(found, examples)})


def cells(box: Box, rows: int, columns: int, grown: int = 0) -> np.ndarray:
    """How much of each cell of a grid lies in a box, `[rows, columns]`; grown: in all cells near those, fully.

    >>> cells((0.0, 0.0, 0.5, 0.75), 2, 2).tolist()
    [[1.0, 0.0], [0.5, 0.0]]
    >>> int(cells((0.0, 0.0, 0.1, 0.1), 3, 3, grown=1).sum())
    4
    """
    left, top, right, bottom = box

    def shares(count: int, low: float, high: float) -> np.ndarray:
        edges = np.arange(count + 1) / count
        return np.clip(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0, None) * count

    covered = np.outer(shares(rows, top, bottom), shares(columns, left, right))
    if not grown:
        return covered
    near = np.zeros_like(covered)
    for row, column in np.argwhere(covered > 0):
        near[max(row - grown, 0) : row + grown + 1, max(column - grown, 0) : column + grown + 1] = 1
    return near


def _regions_of(example: Example) -> list[Box | None] | None:
    """The box of what each word of a caption names, where the picture of an example knows; None where it does not."""
    return getattr(given(example.inputs[PICTURE]), REGIONS, None)


def _regions_column(model: Captioner, examples: Examples) -> RaggedColumn:
    """Where each word of the captions should look, `[steps, cells]` each, and nowhere at their ends."""
    encoder, tables, starts = model.network.pictures, [], [0]
    rows, columns = encoder.rows, encoder.columns
    for example in examples:
        boxes = _regions_of(example)
        said = model.target.rules.tokens(example.target)
        if boxes is None or len(boxes) != len(said):
            raise ValueError(
                f"supervise: expected pictures whose words have regions, one each. Received: {example.key}"
            )
        nowhere = np.zeros([rows, columns])
        found = [nowhere if box is None else cells(box, rows, columns) for box in (*boxes, None)]
        tables.append(np.reshape(found, [len(found), -1]).astype(np.float32))
        starts.append(starts[-1] + len(found))
    return RaggedColumn(REGIONS, np.concatenate(tables), np.array(starts))


def looked_inside(found: Mapping[str, Answer], examples: Sequence[Example]) -> dict[str, float]:
    """How much of attention lies on what is named, or a cell beside it, in right captions; and how much by chance."""
    inside, chance = [], []
    for example in examples:
        answer, boxes = found[example.key], _regions_of(example)
        look = answer.looks.get(PICTURE)
        if boxes is None or look is None or answer.text != example.target or len(look.weights) < len(boxes):
            continue
        for box, weights in zip(boxes, look.weights, strict=False):
            if box is not None:
                rows, columns = weights.shape
                region = cells(box, rows, columns, grown=1)
                inside.append(float((region * weights).sum() / max(weights.sum(), 1e-9)))
                chance.append(float(region.mean()))
    return {"inside": float(np.mean(inside)), "inside_by_chance": float(np.mean(chance))} if inside else {}
