"""A picture, from the bytes of its file."""

import io
import random
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from seqattn_tf.fields.base import Field
from seqattn_tf.named import check_count

if TYPE_CHECKING:
    from seqattn_tf.fields.graph.image import GraphImage

LARGEST = 1 << 25  # pixels: 100 MB when decoded
JPEG, PNG, BMP = b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"BM"  # how the files begin
BMP_BITS = 24  # of a pixel, at least: with fewer, TensorFlow takes the places of a palette for colours
WHITE = 255.0
FORMATS = "a JPEG, PNG or BMP picture"


class Image(Field):
    """One picture as red, green and blue from 0 to 255, shrunk or stretched to one size.

    Args:
        height, width: of what the network sees.
        limit: pictures with more pixels are refused before they are decoded.
        pad: whether a picture keeps its proportions, and white is added to its right and below; a smaller one then
            stays as it is.

    >>> image = Image(2, 3)
    >>> [picture] = image.made_up(1)
    >>> image.arrays(picture)["pixels"].shape
    (2, 3, 3)
    """

    name_in_registry = "image"
    kind = "image"

    def __init__(self, height: int, width: int, limit: int = LARGEST, pad: bool = False) -> None:
        self.height, self.width = check_count("height", height), check_count("width", width)
        self.limit, self.pad = check_count("limit", limit), pad
        self.page = (height, width) if pad else None

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """The pixels: `[height, width, 3]`."""
        pixels = self.decoded(value)
        height, width = self.height, self.width
        if self.pad:
            height, width = inside(pixels.shape[0], pixels.shape[1], height, width)
        down, across = shares(pixels.shape[0], height), shares(pixels.shape[1], width)
        found = np.einsum("hy,yxc,wx->hwc", down, pixels.astype(np.float32), across, optimize=True)
        beyond = [(0, self.height - height), (0, self.width - width), (0, 0)]
        return {"pixels": np.pad(found, beyond, constant_values=WHITE)}

    def picture(self, value: Any) -> np.ndarray:
        """The picture as it is, `[y, x, 3]`; where it is padded, what the network sees of it."""
        return self.arrays(value)["pixels"].astype(np.uint8) if self.pad else self.decoded(value)

    def decoded(self, value: Any) -> np.ndarray:
        """The picture as it is: `[y, x, 3]`."""
        from PIL import Image as Pillow

        data = self.raw(value)
        if not data.startswith((JPEG, PNG, BMP)):
            raise ValueError(f"expected {FORMATS}. Received: bytes that begin with {data[:8]!r}")
        if data.startswith(BMP) and (bits := int.from_bytes(data[28:30], "little")) < BMP_BITS:
            raise ValueError(f"expected a BMP picture of {BMP_BITS} bits a pixel or more. Received: {bits} bits")
        try:
            with Pillow.open(io.BytesIO(data), formats=("JPEG", "PNG", "BMP")) as picture:
                if picture.width * picture.height > self.limit:
                    size = f"{picture.width} x {picture.height}"
                    raise TooLarge(f"expected a picture of at most {self.limit} pixels. Received: {size}")
                deep = picture.mode.startswith("I")  # 16 bits, which Pillow would cut off at 255
                pixels = np.asarray(picture, np.float32) // 256 if deep else np.asarray(picture.convert("RGB"))
        except TooLarge:
            raise
        except (OSError, ValueError, SyntaxError, Pillow.DecompressionBombError) as error:
            raise ValueError(f"expected {FORMATS}. Received: a broken one: {error}") from None
        return np.repeat(pixels[:, :, None], 3, axis=2) if pixels.ndim == 2 else pixels

    def made_up(self, count: int, seed: int = 0) -> list[bytes]:
        """Noise of a few sizes, as PNG."""
        generator = random.Random(seed)
        return [png(generator, generator.randint(1, 40), generator.randint(1, 40)) for _ in range(count)]

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {"height": self.height, "width": self.width, "limit": self.limit, "pad": self.pad}

    def in_graph(self, name: str) -> "GraphImage":
        """The twin."""
        from seqattn_tf.fields.graph.image import GraphImage

        return GraphImage(self, name)


class TooLarge(ValueError):
    """A picture that is not decoded."""


def inside(height: int, width: int, most_height: int, most_width: int) -> tuple[int, int]:
    """The size of a picture that keeps its proportions and is no larger than another.

    >>> inside(100, 50, 20, 20), inside(3, 4, 20, 20), inside(1000, 1, 20, 20)
    ((20, 10), (3, 4), (20, 1))
    """
    if height <= most_height and width <= most_width:
        return height, width
    if height * most_width > width * most_height:
        return most_height, max(width * most_height // height, 1)
    return max(height * most_width // width, 1), most_width


def shares(given: int, wanted: int) -> np.ndarray:
    """How much of each given row goes into each wanted row: a triangle over those near it, `[wanted, given]`.

    >>> (shares(4, 2) * 7).round().tolist()
    [[3.0, 3.0, 1.0, 0.0], [0.0, 1.0, 3.0, 3.0]]
    """
    scale = np.float32(given) / np.float32(wanted)
    centres = (np.arange(wanted, dtype=np.float32) + 0.5) * scale - 0.5
    distances = np.abs(np.arange(given, dtype=np.float32) - centres[:, None]) / np.maximum(scale, 1)
    weights = np.maximum(1 - distances, 0)
    return weights / weights.sum(axis=1, keepdims=True)


def png(generator: random.Random, height: int, width: int) -> bytes:
    """A picture of noise as the bytes of a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + generator.randbytes(3 * width) for _ in range(height))
    return PNG + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
