"""Pictures of coloured shapes with captions, drawn when their batch is made.

    a red circle left of a blue square

The caption names two shapes, the larger one first. There are one to four smaller shapes besides, each of which shares
its colour or its shape with one of the two. The combinations of colours, shapes and relations in `dev` and `test` never
occur in `train`.
"""

import dataclasses
import functools
import random
import zlib
from collections.abc import Callable, Iterator

import numpy as np

from seqattn_tf.training.data.examples import Example, Splits, share
from seqattn_tf.training.data.stored import png_of

SIDE = 80  # the side of a picture in pixels
COLOURS = {
    "red": (214, 48, 49),
    "green": (39, 154, 72),
    "blue": (45, 90, 210),
    "yellow": (240, 200, 40),
    "purple": (140, 60, 170),
    "orange": (240, 130, 30),
}
SHAPES = ("circle", "square", "triangle", "cross", "ring")
# The directions from the second shape to the first.
RELATIONS = {"left of": (-1, 0), "right of": (1, 0), "above": (0, -1), "below": (0, 1)}
_LARGE, _MIDDLE, SMALL = (11.5, 13.0), (8.0, 9.0), (4.5, 5.5)  # half the side of a shape in pixels
PARTS = {"dev": (0.0, 0.08), "test": (0.08, 0.2), "train": (0.2, 1.0)}  # ranges of hashes of the combinations
_FEWEST, _MOST = 1, 4  # the number of shapes that are not named
_APART = 2.0  # minimum distance between two shapes in pixels
_TRIES = 200


def say(colour: str, kind: str) -> str:
    """Return a shape's name with its article.

    >>> say("orange", "ring")
    'an orange ring'
    """
    return f"{'an' if colour[0] in 'aeiou' else 'a'} {colour} {kind}"


@dataclasses.dataclass(frozen=True)
class Shape:
    """A shape: its colour, its kind, its center, and half its side, in pixels."""

    colour: str
    kind: str
    x: float
    y: float
    size: float

    @property
    def name(self) -> tuple[str, str]:
        """The colour and the kind."""
        return self.colour, self.kind

    @property
    def said(self) -> str:
        """The name with its article."""
        return say(self.colour, self.kind)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The left, top, right and bottom edges, as fractions of the picture."""
        corners = (self.x - self.size, self.y - self.size, self.x + self.size, self.y + self.size)
        return tuple(corner / SIDE for corner in corners)  # type: ignore[return-value]

    def covers(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the fraction, from 0 to 1, that the shape covers of the pixels with these centers."""
        dx, dy, size = x - self.x, y - self.y, self.size
        across, down, far = abs(dx), abs(dy), np.hypot(dx, dy)
        inside = {
            "circle": size - far,
            "square": 0.88 * size - np.maximum(across, down),
            "triangle": np.minimum((0.8 * size + dy) * 0.45 - across, 0.8 * size - dy),
            "cross": np.maximum(
                np.minimum(0.33 * size - across, size - down), np.minimum(0.33 * size - down, size - across)
            ),
            "ring": np.minimum(size - far, far - 0.55 * size),
        }[self.kind]
        return np.clip(inside + 0.5, 0, 1)

    def paint(self, pixels: np.ndarray, shade: np.ndarray) -> None:
        """Draw the shape into a picture `[y, x, 3]`, in this shade."""
        edges = (self.x - self.size, self.y - self.size, self.x + self.size, self.y + self.size)
        left, top, right, bottom = (min(max(round(edge), 1), len(pixels) - 1) for edge in edges)
        part = np.s_[top - 1 : bottom + 1, left - 1 : right + 1]
        y, x = np.mgrid[part] + 0.5
        pixels[part] += (shade - pixels[part]) * self.covers(x, y)[..., None]


@dataclasses.dataclass(frozen=True)
class Scene:
    """A picture that is drawn when it is read.

    >>> scene = draw(7)
    >>> scene.caption.split()[0], len(scene.shapes) in range(3, 7), scene.read()[:4]
    ('a', True, b'\\x89PNG')
    """

    number: int  # seed of the noise and the background
    relation: str
    shapes: tuple[Shape, ...]  # the first two are named

    @property
    def caption(self) -> str:
        """The caption of the picture."""
        first, second = self.shapes[:2]
        return f"{first.said} {self.relation} {second.said}"

    @property
    def regions(self) -> list[tuple[float, float, float, float] | None]:
        """The box of the shape that each word of the caption names, or None for a word that names no shape."""
        first, second = (shape.box for shape in self.shapes[:2])
        between: list[tuple[float, float, float, float] | None] = [None] * len(self.relation.split())
        return [None, first, first, *between, None, second, second]

    def pixels(self) -> np.ndarray:
        """Return the picture: `[y, x, 3]` from 0 to 255."""
        generator = np.random.default_rng(self.number)
        ground = generator.uniform(200, 245) + generator.uniform(-8, 8, 3)
        found = np.broadcast_to(ground, (SIDE, SIDE, 3)).copy()
        for shape in self.shapes:
            shape.paint(found, np.asarray(COLOURS[shape.colour]) + generator.uniform(-14, 14, 3))
        found += generator.normal(0, 5, found.shape)
        return np.clip(found, 0, 255).astype(np.uint8)

    def read(self) -> bytes:
        """Return the bytes of a PNG file."""
        return png_of(self.pixels())


def draw(number: int, part: str = "train") -> Scene:
    """Return the scene with this number in a part."""
    generator = random.Random(f"{part}/{number}")
    while True:
        names = [(generator.choice(list(COLOURS)), generator.choice(SHAPES)) for _ in range(2)]
        relation = generator.choice(list(RELATIONS))
        if names[0] == names[1] or part_of(names[0], relation, names[1]) != part:
            continue
        if (shapes := _placed(names, relation, generator)) is not None:
            return Scene(zlib.crc32(f"{part}/{number}".encode()), relation, tuple(shapes))


def _relation_of(first: Shape, second: Shape) -> str | None:
    """Return the relation of the first shape to the second, or None if it is ambiguous.

    >>> _relation_of(Shape("red", "ring", 10, 40, 5), Shape("blue", "cross", 60, 45, 5))
    'left of'
    """
    dx, dy = first.x - second.x, first.y - second.y
    for relation, (right, down) in RELATIONS.items():
        along, aside = (dx * right, abs(dy)) if right else (dy * down, abs(dx))
        if along > 2 * aside:
            return relation
    return None


def part_of(first: tuple[str, str], relation: str, second: tuple[str, str]) -> str:
    """Return the part to which a combination of two shapes and a relation belongs.

    >>> part_of(("red", "ring"), "above", ("blue", "cross")) in PARTS
    True
    """
    at = share(f"{first} {relation} {second}")
    return next(part for part, (low, high) in PARTS.items() if low <= at < high)


def _placed(names: list[tuple[str, str]], relation: str, generator: random.Random) -> list[Shape] | None:
    """Return the two named shapes and smaller ones that share something with them, or None if they do not fit."""
    first = _fitting(names[0], generator.uniform(*_LARGE), [], generator)
    assert first is not None
    second = _fitting(
        names[1], generator.uniform(*_MIDDLE), [first], generator, lambda shape: _relation_of(first, shape) == relation
    )
    if second is None:
        return None
    shapes = [first, second]
    for _ in range(generator.randint(_FEWEST, _MOST)):
        colour, kind = generator.choice(names)
        other = (colour, generator.choice(SHAPES)), (generator.choice(list(COLOURS)), kind)
        if (small := _fitting(generator.choice(other), generator.uniform(*SMALL), shapes, generator)) is not None:
            shapes.append(small)
    return shapes if len(shapes) > 2 else None


def _fitting(
    name: tuple[str, str],
    size: float,
    others: list[Shape],
    generator: random.Random,
    fits: Callable[[Shape], bool] = lambda shape: True,
) -> Shape | None:
    """Return a shape at a random free place, or None if none is found."""
    for _ in range(_TRIES):
        x, y = (generator.uniform(size + 1, SIDE - size - 1) for _ in range(2))
        shape = Shape(*name, x, y, size)
        free = all(max(abs(x - other.x), abs(y - other.y)) > size + other.size + _APART for other in others)
        if free and fits(shape):
            return shape
    return None


def examples(count: int, part: str, seed: int = 0) -> Iterator[Example]:
    """Yield scenes with their captions."""
    for number in range(seed * count, (seed + 1) * count):
        scene = draw(number, part)
        yield Example(f"{part}/{number}", {"image": scene}, scene.caption)


def ask(scene: Scene, generator: random.Random) -> tuple[str, str, str]:
    """Return a question about a scene that has exactly one answer: `(kind, question, answer)`.

    >>> ask(draw(7), random.Random(0))[0] in KINDS
    True
    """
    kinds = list(KINDS)
    generator.shuffle(kinds)
    for kind in kinds:
        if asked := KINDS[kind](scene, generator):
            return kind, *asked
    raise AssertionError("something can always be counted")


def _ask_colour(scene: Scene, generator: random.Random) -> tuple[str, str] | None:
    """Ask for the colour of the only shape of its kind."""
    shape = _only(scene, "kind", generator)
    return (f"what colour is the {shape.kind} ?", shape.colour) if shape else None


def _ask_shape(scene: Scene, generator: random.Random) -> tuple[str, str] | None:
    """Ask for the kind of the only shape of its colour."""
    shape = _only(scene, "colour", generator)
    return (f"what shape is the {shape.colour} one ?", shape.kind) if shape else None


def _only(scene: Scene, what: str, generator: random.Random) -> Shape | None:
    """Return a shape whose `what` (its colour or its kind) no other shape has, or None."""
    found = [getattr(shape, what) for shape in scene.shapes]
    only = [shape for shape in scene.shapes if found.count(getattr(shape, what)) == 1]
    return generator.choice(only) if only else None


def _ask_count(scene: Scene, generator: random.Random) -> tuple[str, str]:
    """Ask for the number of shapes of a colour or of a kind."""
    if generator.random() < 0.5:
        colour = generator.choice(list(COLOURS))
        return f"how many {colour} shapes are there ?", str(sum(shape.colour == colour for shape in scene.shapes))
    kind = generator.choice(SHAPES)
    return f"how many {kind} shapes are there ?", str(sum(shape.kind == kind for shape in scene.shapes))


def _ask_existence(scene: Scene, generator: random.Random) -> tuple[str, str]:
    """Ask whether a shape exists: one that does, or one that shares its colour or its kind with one that does."""
    there = {shape.name for shape in scene.shapes}
    colour, kind = generator.choice(sorted(there))
    if generator.random() < 0.5:
        while (colour, kind) in there:
            shape = generator.choice(scene.shapes)
            near = (shape.colour, generator.choice(SHAPES)), (generator.choice(list(COLOURS)), shape.kind)
            colour, kind = generator.choice(near)
    return f"is there {say(colour, kind)} ?", "yes" if (colour, kind) in there else "no"


def _ask_relation(scene: Scene, generator: random.Random) -> tuple[str, str] | None:
    """Ask whether a shape is in a given relation to another."""
    if (pair := _pair(scene, generator)) is None:
        return None
    first, relation, second = pair
    others = [other for other in RELATIONS if other != relation]
    asked = relation if generator.random() < 0.5 else generator.choice(others)
    question = f"is the {first.colour} {first.kind} {asked} the {second.colour} {second.kind} ?"
    return question, "yes" if asked == relation else "no"


def _ask_where(scene: Scene, generator: random.Random) -> tuple[str, str] | None:
    """Ask where a shape is relative to another."""
    if (pair := _pair(scene, generator)) is None:
        return None
    first, relation, second = pair
    question = f"where is the {first.colour} {first.kind} , seen from the {second.colour} {second.kind} ?"
    return question, relation.split()[0]


def _pair(scene: Scene, generator: random.Random) -> tuple[Shape, str, Shape] | None:
    """Return two shapes and their relation, or None.

    Each shape is the only one of its name, the relation is unambiguous, and the combination belongs to the part of the
    scene.
    """
    names = [shape.name for shape in scene.shapes]
    only = [shape for shape in scene.shapes if names.count(shape.name) == 1]
    part = part_of(names[0], scene.relation, names[1])
    pairs = [
        (first, relation, second)
        for first in only
        for second in only
        if (relation := _relation_of(first, second)) and part_of(first.name, relation, second.name) == part
    ]
    return generator.choice(pairs) if pairs else None


KINDS: dict[str, Callable[[Scene, random.Random], tuple[str, str] | None]] = {
    "colour": _ask_colour,
    "shape": _ask_shape,
    "count": _ask_count,
    "existence": _ask_existence,
    "relation": _ask_relation,
    "where": _ask_where,
}


def load_questions(train: int = 40_000, held: int = 2_000, seed: int = 0) -> Splits:
    """Return scenes with one question each; the notes contain the kinds of the questions."""
    parts: dict[str, list[Example]] = {}
    notes = {}
    for part, count in (("train", train), ("dev", held), ("test", held)):
        parts[part] = []
        for number in range(seed * count, (seed + 1) * count):
            scene, key = draw(number, part), f"{part}/{number}"
            notes[key], question, answer = ask(scene, random.Random(f"ask {key}"))
            parts[part].append(Example(key, {"image": scene, "question": question}, answer))
    return Splits(parts["train"], parts["dev"], parts["test"], "questions about scenes (generated)", notes)


@functools.lru_cache(maxsize=2)
def load(train: int = 20_000, held: int = 1_000, seed: int = 0) -> Splits:
    """Return scenes with captions; each combination of shapes and relation occurs in one split only."""
    dev, test = (list(examples(held, part, seed)) for part in ("dev", "test"))
    return Splits(list(examples(train, "train", seed)), dev, test, "scenes (generated)")
