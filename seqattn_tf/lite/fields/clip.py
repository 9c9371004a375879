"""A video clip: the frames of an animated GIF, or of an image strip that contains them side by side."""

import io
import random
from typing import Any

import numpy as np

from seqattn_tf.core.registry import check_count
from seqattn_tf.lite.fields.base import Field
from seqattn_tf.lite.fields.image import FORMATS, Image, TooLarge, png, shares

_LARGEST = 1 << 24  # maximum pixels of all frames: 50 MB when decoded
GIF = (b"GIF87a", b"GIF89a")  # file signatures
EXTENSION, FRAME, TRAILER = 0x21, 0x2C, 0x3B  # the first bytes of GIF blocks
EXTENSIONS = 1_000  # maximum number of extension blocks of a GIF; real files have two or three per frame
CLIPS = f"an animated GIF, or a strip of frames as {FORMATS}"


class Clip(Field):
    """One video clip as frames with red, green and blue from 0 to 255, resized to a fixed size.

    A strip is an image with frames side by side, each with the proportions of the network's input.

    Args:
        height, width: The size of a frame in the network's input.
        limit: The maximum number of frames; longer clips are rejected.
        pixels: The maximum number of pixels of all frames; larger clips are rejected before they are decoded.

    >>> clip = Clip(4, 6)
    >>> [strip] = clip.sample_inputs(1)
    >>> clip.arrays(strip)["frames"].shape[1:], len(clip.positions(strip)) == len(clip.arrays(strip)["frames"])
    ((4, 6, 3), True)
    """

    name_in_registry = "clip"
    widget = "clip"

    def __init__(self, height: int, width: int, limit: int = 64, pixels: int = _LARGEST) -> None:
        self.height, self.width = check_count("height", height), check_count("width", width)
        self.limit, self.pixels = check_count("limit", limit), check_count("pixels", pixels)

    def frames(self, value: Any) -> np.ndarray:
        """Return the frames at their original size: `[frames, y, x, 3]`."""
        data = self.raw(value)
        if not data.startswith(GIF):
            return self._cut(data)
        height, width, count = read_gif(data, self.limit)
        self._check(height, width, count)
        from PIL import Image as Pillow
        from PIL import ImageSequence

        try:
            with Pillow.open(io.BytesIO(data), formats=("GIF",)) as picture:
                return np.stack([np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(picture)])
        except Exception as error:  # Pillow raises all kinds of errors for broken files
            raise ValueError(f"expected {CLIPS}. Received: a corrupt one: {error}") from None

    def _cut(self, data: bytes) -> np.ndarray:
        """Return the frames of a strip."""
        picture = Image(self.height, self.width, self.pixels)
        try:
            height, width = picture.size(data)
            count = max(fitting(height, width, self.height, self.width), 1)
            self._check(height, width // count, count)
            strip = picture.decoded(data)
        except TooLarge:
            raise
        except ValueError as error:
            raise ValueError(str(error).replace(FORMATS, CLIPS)) from None
        wide = width // count
        return np.stack([strip[:, wide * i : wide * (i + 1)] for i in range(count)])

    def _check(self, height: int, width: int, count: int) -> None:
        if count > self.limit:
            raise ValueError(f"expected a clip of at most {self.limit} frames. Received: {count}")
        if height * width * count > self.pixels:
            size = f"{count} frames of {width} x {height}"
            raise ValueError(f"expected a clip of at most {self.pixels} pixels. Received: {size}")

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """Return the resized frames, `[frames, height, width, 3]`, and a one for each."""
        frames = self.frames(value)
        down, across = shares(frames.shape[1], self.height), shares(frames.shape[2], self.width)
        seen = [np.einsum("hy,yxc,wx->hwc", down, f.astype(np.float32), across, optimize=True) for f in frames]
        return {"frames": np.stack(seen), "there": np.ones(len(seen), np.int32)}

    def positions(self, value: Any, level: str = "") -> tuple[str, ...]:
        """Return the numbers of the frames, from 1."""
        return tuple(str(number) for number in range(1, len(self.frames(value)) + 1))

    def picture(self, value: Any) -> np.ndarray:
        """Return all frames side by side, `[y, x, 3]`."""
        return np.concatenate(list(self.frames(value)), axis=1)

    def sample_inputs(self, count: int, seed: int = 0) -> list[bytes]:
        """Return strips of several frames of noise, as PNG."""
        generator = random.Random(seed)
        most = min(self.limit, 6)
        return [png(generator, self.height, self.width * generator.randint(1, most)) for _ in range(count)]

    def edge_cases(self) -> list[str | bytes]:
        """Return a strip with the maximum number of frames."""
        return [png(random.Random(0), self.height, self.width * self.limit)]

    def get_config(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("height", "width", "limit", "pixels")}


def fitting(height: Any, width: Any, of_height: int, of_width: int) -> Any:
    """Return the number of frames with these proportions that fits a strip best; sizes are numbers or tensors.

    >>> fitting(10, 59, 20, 40), fitting(10, 61, 20, 40)
    (3, 3)
    """
    return (2 * width * of_height + height * of_width) // (2 * height * of_width)


def read_gif(data: bytes, most: int | None = None) -> tuple[int, int, int]:
    """Return height, width and number of frames of a GIF from its blocks, without decoding them.

    Args:
        data: The bytes of the file.
        most: The number of frames above which the limit on extension blocks does not apply; None to apply it always.

    Raises:
        ValueError: If there is no frame, or if the file is damaged.
    """
    broken = f"expected {CLIPS}. Received: a corrupt one"
    if len(data) < 13:
        raise ValueError(broken)
    width, height = (int.from_bytes(data[i : i + 2], "little") for i in (6, 8))
    place, count, extensions, inside = 13 + _palette(data[10]), 0, 0, False
    while place < len(data):
        kind = data[place]
        if inside:
            place += kind + 1
            inside = kind != 0
        elif kind == EXTENSION:
            if extensions == EXTENSIONS and (most is None or count <= most):
                raise ValueError(f"expected a GIF of at most {EXTENSIONS} extension blocks. Received: more")
            place, inside, extensions = place + 2, True, extensions + 1
        elif kind == FRAME and place + 10 < len(data):
            left, top, wide, tall = (int.from_bytes(data[place + i : place + i + 2], "little") for i in (1, 3, 5, 7))
            if left + wide > width or top + tall > height:
                raise ValueError(broken)
            count, place, inside = count + 1, place + 11 + _palette(data[place + 9]), True
        else:
            break
    if not count or inside or not height * width or place >= len(data) or data[place] != TRAILER:
        raise ValueError(broken)
    return height, width, count


def _palette(flags: int) -> int:
    """Return the number of bytes of the color table that follows."""
    return 3 << (flags % 8 + 1) if flags >= 128 else 0
