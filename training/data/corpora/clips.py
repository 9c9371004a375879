"""Clips in which coloured shapes perform actions one after another, drawn when their batch is made.

    the red circle moves left , then the blue square grows

Besides the two shapes that act, there are one or two that do nothing, each of which shares its colour or its shape with
one that acts. The combinations of two shapes and their actions in `dev` and `test` never occur in `train`, although
each shape occurs there with each action.
"""

import dataclasses
import io
import random
import zlib
from collections.abc import Callable

import numpy as np

from seqattn_tf.training.data.corpora.scenes import COLOURS, PARTS, SHAPES, Shape
from seqattn_tf.training.data.examples import Example, Splits, share
from seqattn_tf.training.data.stored import png_of

SIDE, FRAMES = 48, 16  # the side of a frame in pixels, and the number of frames
_SIZE = (4.5, 6.0)  # half the side of a shape in pixels
_FAR = (12.0, 16.0)  # the distance of a move in pixels
_MOVES = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
ACTIONS = (*(f"moves {where}" for where in _MOVES), "grows", "shrinks", "blinks")
_GROWN, _SHRUNK = 1.8, 0.45  # the relative size of a shape that has grown or shrunk
_TRIES = 200


@dataclasses.dataclass(frozen=True)
class Event:
    """An action of one of the shapes, from one frame to another."""

    shape: int
    action: str
    begin: int
    end: int
    far: float  # the distance in pixels, for moves

    def share(self, frame: int) -> float:
        """Return the share of the action, from 0 to 1, that is complete in a frame."""
        return min(max((frame - self.begin) / (self.end - self.begin), 0.0), 1.0)

    def changed(self, shape: Shape, frame: int) -> Shape | None:
        """Return the shape as it is in a frame, or None if it is invisible."""
        done = self.share(frame)
        kind, _, where = self.action.partition(" ")
        if kind == "moves":
            right, down = _MOVES[where]
            return dataclasses.replace(shape, x=shape.x + done * right * self.far, y=shape.y + done * down * self.far)
        if kind == "blinks":
            return None if 0 < done < 1 and (frame - self.begin) % 2 else shape
        return dataclasses.replace(shape, size=shape.size * (_GROWN if kind == "grows" else _SHRUNK) ** done)


@dataclasses.dataclass(frozen=True)
class Moving:
    """A clip that is drawn when it is read.

    >>> clip = draw(3)
    >>> clip.caption.split()[0], clip.frames().shape, clip.read()[:4]
    ('the', (16, 48, 48, 3), b'\\x89PNG')
    """

    number: int  # seed of the noise and the background
    shapes: tuple[Shape, ...]
    events: tuple[Event, ...]

    @property
    def caption(self) -> str:
        """The shapes and their actions, in order."""
        named = [(self.shapes[event.shape], event.action) for event in self.events]
        return " , then ".join(f"the {shape.colour} {shape.kind} {action}" for shape, action in named)

    @property
    def label(self) -> str:
        """The actions in order, without the shapes."""
        return " then ".join(event.action for event in self.events)

    def frames(self) -> np.ndarray:
        """Return the frames: `[frames, y, x, 3]` from 0 to 255."""
        generator = np.random.default_rng(self.number)
        ground = generator.uniform(200, 245) + generator.uniform(-8, 8, 3)
        found = np.broadcast_to(ground, (FRAMES, SIDE, SIDE, 3)).astype(np.float32)
        shades = [np.asarray(COLOURS[shape.colour]) + generator.uniform(-14, 14, 3) for shape in self.shapes]
        for frame, pixels in enumerate(found):
            for shape, shade in zip(self.at(frame), shades, strict=True):
                if shape is not None:
                    shape.paint(pixels, shade)
        found += generator.normal(0, 5, found.shape)
        return np.clip(found, 0, 255).astype(np.uint8)

    def at(self, frame: int) -> list[Shape | None]:
        """Return the shapes in a frame."""
        found: list[Shape | None] = list(self.shapes)
        for event in self.events:
            if (shape := found[event.shape]) is not None:
                found[event.shape] = event.changed(shape, frame)
        return found

    def read(self) -> bytes:
        """Return the bytes of a PNG file with the frames side by side."""
        return png_of(np.concatenate(list(self.frames()), axis=1))

    def gif(self) -> bytes:
        """Return the bytes of an animated GIF file."""
        from PIL import Image as Pillow

        first, *others = (Pillow.fromarray(frame) for frame in self.frames())
        data = io.BytesIO()
        first.save(data, "GIF", save_all=True, append_images=others, duration=120, loop=0)
        return data.getvalue()


def part_of(*doing: tuple[tuple[str, str], str]) -> str:
    """Return the part to which a sequence of shapes and actions belongs: `((colour, shape), action)` each.

    >>> part_of((("red", "ring"), "grows"), (("blue", "cross"), "blinks")) in PARTS
    True
    """
    at = share(" ".join(map(str, doing)))
    return next(part for part, (low, high) in PARTS.items() if low <= at < high)


def draw(number: int, part: str = "train") -> Moving:
    """Return the clip with this number in a part."""
    generator = random.Random(f"{part}/{number}")
    while True:
        names = [(generator.choice(list(COLOURS)), generator.choice(SHAPES)) for _ in range(2)]
        actions = [generator.choice(ACTIONS) for _ in range(2)]
        if names[0] == names[1] or part_of(*zip(names, actions, strict=True)) != part:
            continue
        if (shapes := _placed(names, generator)) is None:
            continue
        middle = generator.randint(7, 8)
        spans = (
            (generator.randint(0, 1), middle - generator.randint(0, 1)),
            (middle, FRAMES - generator.randint(1, 2)),
        )
        events = tuple(
            Event(i, action, begin, end, generator.uniform(*_FAR))
            for i, (action, (begin, end)) in enumerate(zip(actions, spans, strict=True))
        )
        clip = Moving(zlib.crc32(f"{part}/{number}".encode()), tuple(shapes), events)
        if _inside(clip):
            return clip


def _placed(names: list[tuple[str, str]], generator: random.Random) -> list[Shape] | None:
    """Return the shapes that act, and one or two that share a colour or a shape with them; None if they do not fit."""
    shapes: list[Shape] = []
    for number in range(2 + generator.randint(1, 2)):
        name = names[number] if number < 2 else _near(names, generator)
        for _ in range(_TRIES):
            size = generator.uniform(*_SIZE)
            x, y = (generator.uniform(size + 1, SIDE - size - 1) for _ in range(2))
            if all(max(abs(x - other.x), abs(y - other.y)) > size + other.size + 1 for other in shapes):
                shapes.append(Shape(*name, x, y, size))
                break
        else:
            return None
    return shapes


def _near(names: list[tuple[str, str]], generator: random.Random) -> tuple[str, str]:
    """Return another name that shares its colour or its shape with one of these."""
    while True:
        colour, kind = generator.choice(names)
        near = generator.choice([(colour, generator.choice(SHAPES)), (generator.choice(list(COLOURS)), kind)])
        if near not in names:
            return near


def _inside(clip: Moving) -> bool:
    """Return whether all shapes end up inside the picture."""
    last = [shape for shape in clip.at(FRAMES) if shape is not None]
    return all(shape.size <= min(shape.x, shape.y, SIDE - shape.x, SIDE - shape.y) for shape in last)


def load(train: int = 20_000, held: int = 1_000, seed: int = 0, *, labels: bool = False) -> Splits:
    """Return clips with their captions, or with labels."""
    said: Callable[[Moving], str] = (lambda clip: clip.label) if labels else (lambda clip: clip.caption)
    parts = {}
    for part, count in (("train", train), ("dev", held), ("test", held)):
        clips = [(f"{part}/{number}", draw(number, part)) for number in range(seed * count, (seed + 1) * count)]
        parts[part] = [Example(key, {"clip": clip}, said(clip)) for key, clip in clips]
    return Splits(parts["train"], parts["dev"], parts["test"], "clips (generated)")
