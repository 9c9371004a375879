"""Clips in which coloured shapes do something one after another, drawn when their batch comes.

    the red circle moves left , then the blue square grows

Beside those that are named lie one or two that do nothing, each of which shares its colour or its shape with one that
does. Which shapes do what in which order in `dev` and `test` is never seen in `train`; each of them alone is.
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

SIDE, FRAMES = 48, 16  # pixels of a frame, and how many there are
_SIZE = (4.5, 6.0)  # half the side of a shape, in pixels
_FAR = (12.0, 16.0)  # pixels that one moves
_MOVES = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
ACTIONS = (*(f"moves {where}" for where in _MOVES), "grows", "shrinks", "blinks")
_GROWN, _SHRUNK = 1.8, 0.45  # how large one is that has grown or shrunk
_TRIES = 200


@dataclasses.dataclass(frozen=True)
class Event:
    """What one of the shapes does, from one frame to another."""

    shape: int
    action: str
    begin: int
    end: int
    far: float  # pixels, where it moves

    def share(self, frame: int) -> float:
        """How much of it is done in a frame, from 0 to 1."""
        return min(max((frame - self.begin) / (self.end - self.begin), 0.0), 1.0)

    def changed(self, shape: Shape, frame: int) -> Shape | None:
        """The shape as it is in a frame; None where it is not seen."""
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

    number: int  # of what cannot be told from the rest: noise, and the ground
    shapes: tuple[Shape, ...]
    events: tuple[Event, ...]

    @property
    def caption(self) -> str:
        """Who does what, one after another."""
        named = [(self.shapes[event.shape], event.action) for event in self.events]
        return " , then ".join(f"the {shape.colour} {shape.kind} {action}" for shape, action in named)

    @property
    def label(self) -> str:
        """What is done, one after another, whoever does it."""
        return " then ".join(event.action for event in self.events)

    def frames(self) -> np.ndarray:
        """The frames: `[frames, y, x, 3]` from 0 to 255."""
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
        """The shapes in a frame."""
        found: list[Shape | None] = list(self.shapes)
        for event in self.events:
            if (shape := found[event.shape]) is not None:
                found[event.shape] = event.changed(shape, frame)
        return found

    def read(self) -> bytes:
        """The bytes of a PNG file, the frames side by side."""
        return png_of(np.concatenate(list(self.frames()), axis=1))

    def gif(self) -> bytes:
        """The bytes of an animated GIF file."""
        from PIL import Image as Pillow

        first, *others = (Pillow.fromarray(frame) for frame in self.frames())
        data = io.BytesIO()
        first.save(data, "GIF", save_all=True, append_images=others, duration=120, loop=0)
        return data.getvalue()


def part_of(*doing: tuple[tuple[str, str], str]) -> str:
    """The part in which shapes do this one after another: `((colour, shape), action)` each.

    >>> part_of((("red", "ring"), "grows"), (("blue", "cross"), "blinks")) in PARTS
    True
    """
    at = share(" ".join(map(str, doing)))
    return next(part for part, (low, high) in PARTS.items() if low <= at < high)


def draw(number: int, part: str = "train") -> Moving:
    """The clip of a number, of what is done in a part."""
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
    """Those that do something, and one or two that share a colour or a shape with them; None where there is no room."""
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
    """Another name that shares its colour or its shape with one of these."""
    while True:
        colour, kind = generator.choice(names)
        near = generator.choice([(colour, generator.choice(SHAPES)), (generator.choice(list(COLOURS)), kind)])
        if near not in names:
            return near


def _inside(clip: Moving) -> bool:
    """Whether all that moves or grows stays in the picture."""
    last = [shape for shape in clip.at(FRAMES) if shape is not None]
    return all(shape.size <= min(shape.x, shape.y, SIDE - shape.x, SIDE - shape.y) for shape in last)


def load(train: int = 20_000, held: int = 1_000, seed: int = 0, *, labels: bool = False) -> Splits:
    """Clips with their captions, or with labels."""
    said: Callable[[Moving], str] = (lambda clip: clip.label) if labels else (lambda clip: clip.caption)
    parts = {}
    for part, count in (("train", train), ("dev", held), ("test", held)):
        clips = [(f"{part}/{number}", draw(number, part)) for number in range(seed * count, (seed + 1) * count)]
        parts[part] = [Example(key, {"clip": clip}, said(clip)) for key, clip in clips]
    return Splits(parts["train"], parts["dev"], parts["test"], "clips (generated)")
