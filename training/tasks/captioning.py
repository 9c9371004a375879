"""A task that maps pictures to sentences."""

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
from seqattn_tf.training.feature_maps import given
from seqattn_tf.training.metrics import Tally
from seqattn_tf.training.tasks.base import Report, refuse_few, without_beam
from seqattn_tf.training.tasks.images import PICTURE, ImageSettings, ImageTask
from seqattn_tf.training.tasks.settings import CaptionWords, EmbeddingSettings, SearchSettings, setting

Box = tuple[float, float, float, float]  # left, top, right and bottom, as fractions of a picture


@dataclasses.dataclass(frozen=True)
class CaptionSettings(SearchSettings, CaptionWords, EmbeddingSettings, ImageSettings):
    """Settings of a captioner."""

    conditioning: str = setting("soft", "how the decoder uses the image: state, input, soft, hard")
    doubly_stochastic_weight: float = setting(
        0.0, "weight of the doubly stochastic loss, which pulls the total weight of each cell towards 1"
    )
    attention_supervision: float = setting(
        0.0, "weight of the attention supervision loss, for data with a region for each word"
    )
    entropy_weight: float = setting(0.01, "weight of the entropy bonus of hard attention")
    reinforce_weight: float = setting(1.0, "weight of the REINFORCE term of hard attention")
    soft_probability: float = setting(
        0.5, "probability of using the mean of all cells instead of a sample, in training with hard attention"
    )
    gate: bool = setting(True, "scale the context by a gate computed from the decoder state")
    lowercase: bool = setting(False, "convert captions to lower case")
    strip_accents: bool = setting(False, "remove accents from captions")
    vocabulary: int = setting(0, "maximum vocabulary size; 0 for no limit")


@dataclasses.dataclass(frozen=True)
class CaptionTask(ImageTask[CaptionSettings, Captioner]):
    """Training of a `Captioner`. If the data contain a box for each word, the attention inside it is also measured."""

    def build(self, settings: CaptionSettings, train: Examples) -> Captioner:
        limits: dict[str, Any] = {"vocabulary": settings.vocabulary, "min_count": settings.min_count}
        cut: dict[str, Any] = {
            "tokenizer": settings.target_tokenizer,
            "lowercase": settings.lowercase,
            "strip_accents": settings.strip_accents,
        }
        target = Symbols.learn(train.targets, limit=settings.max_target_length, **cut, **limits)
        refuse_few(target.rules, "caption vocabulary")
        losses = {
            name: getattr(settings, name)
            for name in ("doubly_stochastic_weight", "attention_supervision", "entropy_weight", "reinforce_weight")
        }
        sizes = arguments_of(CaptionNetwork.of_pictures, settings) | {"embedding_dropout": settings.embedding_rate}
        network = CaptionNetwork.of_pictures(settings.make_encoder(), target.rules.size, **sizes, **losses)
        image = settings.make_image()
        return Captioner(network, {PICTURE: image}, target, max_length_ratio=0, **arguments_of(Captioner, settings))

    def check_student(self, settings: CaptionSettings) -> None:
        """Raise an error for attention supervision, which only the captions of the data support."""
        if settings.attention_supervision:
            raise ValueError(
                f"attention_supervision: expected 0 for distillation. Received: {settings.attention_supervision}"
            )

    def inputs(self, model: Captioner, examples: Examples) -> dict[str, Column]:
        """Return the pictures or their maps and, with attention supervision, the target regions of the words."""
        found = super().inputs(model, examples)
        if model.network.attention_supervision:
            found[PICTURE] = ColumnGroup([found[PICTURE], _regions_column(model, examples)])
        return found

    def fast_variant(self, model: Captioner) -> Captioner:
        return without_beam(model)

    def evaluate(
        self,
        model: Captioner,
        found: Mapping[str, Answer],
        examples: Sequence[Example],
        notes: Mapping[str, str] | None = None,
    ) -> Report:
        """Return the metrics of the captions, and those of the attention of correct ones."""
        report = super().evaluate(model, found, examples, notes)
        return report.and_tally(looked_inside(found, examples))


def cells(box: Box, rows: int, columns: int, grown: int = 0) -> np.ndarray:
    """Return the share of each grid cell that lies in a box, `[rows, columns]`.

    With `grown`, return 1 for all cells that overlap the box and for cells up to this distance from them.

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
    """Return the box of each word of the caption, None for words without one; None if the picture has no boxes."""
    return getattr(given(example.inputs[PICTURE]), REGIONS, None)


def _regions_column(model: Captioner, examples: Examples) -> RaggedColumn:
    """Return a column with the target region of each word of the captions, `[steps, cells]`, empty at their ends."""
    encoder, tables, starts = model.network.pictures, [], [0]
    rows, columns = encoder.rows, encoder.columns
    for example in examples:
        boxes = _regions_of(example)
        said = model.target.rules.tokens(example.target)
        if boxes is None or len(boxes) != len(said):
            raise ValueError(
                f"attention_supervision: expected a region for each word of a caption. Received: {example.key}"
            )
        nowhere = np.zeros([rows, columns])
        found = [nowhere if box is None else cells(box, rows, columns) for box in (*boxes, None)]
        tables.append(np.reshape(found, [len(found), -1]).astype(np.float32))
        starts.append(starts[-1] + len(found))
    return RaggedColumn(REGIONS, np.concatenate(tables), np.array(starts))


def looked_inside(found: Mapping[str, Answer], examples: Sequence[Example]) -> Tally:
    """Return the share of attention on or next to the named objects in correct captions, and that share by chance.

    Both are missing if no caption is correct or the objects are unknown.
    """
    counts = np.zeros([len(examples), 3])  # the sums of both shares, and the number of named objects
    for count, example in zip(counts, examples, strict=True):
        answer, boxes = found[example.key], _regions_of(example)
        look = answer.attention.get(PICTURE)
        if boxes is None or look is None or answer.text != example.target or len(look.weights) < len(boxes):
            continue
        for box, weights in zip(boxes, look.weights, strict=False):
            if box is not None:
                rows, columns = weights.shape
                region = cells(box, rows, columns, grown=1)
                count += (region * weights).sum() / max(weights.sum(), 1e-9), region.mean(), 1

    def values(sums: np.ndarray) -> dict[str, float]:
        inside, chance, objects = map(float, sums)
        return {"inside": inside / objects, "inside_by_chance": chance / objects} if objects else {}

    return Tally(counts, values)
