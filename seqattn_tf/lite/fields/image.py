"""An image, from the bytes of its file."""

import io
import random
import struct
import zlib
from typing import Any

import numpy as np

from seqattn_tf.core.registry import check_count
from seqattn_tf.lite.fields.base import Field

_LARGEST = 1 << 25  # maximum pixels of an image: 100 MB when decoded
SIDE = 1 << 16  # maximum height and width in pixels
BATCH = 1 << 28  # maximum pixels of all images that a graph reads at once
RESIZED = 1 << 26  # maximum pixels of all images after resizing: 800 MB
SCANNED = 1 << 32  # maximum pixels of a JPEG times its scans, each of which the decoder processes in turn
COMPRESSED = (b"zTXt", b"iTXt")  # chunks of a PNG that may unpack to a thousand times their size
TEXTS = 16  # maximum number of such chunks of a PNG; real files have a handful
_NEEDED = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")  # the PNG chunks required to decode pixels
SCAN = b"\xff\xda"  # the marker at the start of a JPEG scan
JPEG, PNG, BMP = b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"BM"  # file signatures
BMP_BITS = 24  # minimum bits per pixel: with fewer, TensorFlow reads palette indices as colors
WHITE = 255.0
FORMATS = "a JPEG, PNG or BMP picture"


class Image(Field):
    """One image with red, green and blue from 0 to 255, resized to a fixed size.

    Args:
        height, width: The size of the network's input.
        limit: The maximum number of pixels; larger images are rejected before they are decoded.
        pad: Whether to keep the proportions of an image and pad it with white on the right and at the bottom; a smaller
            image is then not enlarged.

    >>> image = Image(2, 3)
    >>> [picture] = image.sample_inputs(1)
    >>> image.arrays(picture)["pixels"].shape
    (2, 3, 3)
    """

    name_in_registry = "image"
    widget = "image"

    def __init__(self, height: int, width: int, limit: int = _LARGEST, pad: bool = False) -> None:
        self.height, self.width = check_count("height", height), check_count("width", width)
        self.limit, self.pad = check_count("limit", limit), pad
        self.canvas = (height, width) if pad else None

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """Return the resized pixels `[height, width, 3]`."""
        pixels = self.decoded(value)
        height, width = self.height, self.width
        if self.pad:
            height, width = inside(pixels.shape[0], pixels.shape[1], height, width)
        down, across = shares(pixels.shape[0], height), shares(pixels.shape[1], width)
        found = np.einsum("hy,yxc,wx->hwc", down, pixels.astype(np.float32), across, optimize=True)
        beyond = [(0, self.height - height), (0, self.width - width), (0, 0)]
        return {"pixels": np.pad(found, beyond, constant_values=WHITE)}

    def picture(self, value: Any) -> np.ndarray:
        """Return the original image `[y, x, 3]`; with padding, return the input of the network."""
        return self.arrays(value)["pixels"].astype(np.uint8) if self.pad else self.decoded(value)

    def decoded(self, value: Any) -> np.ndarray:
        """Decode the image at its original size: `[y, x, 3]`."""
        from PIL import Image as Pillow

        data = self.raw(value)
        self.size(data)
        try:
            whole = io.BytesIO(_bare_png(data) if data.startswith(PNG) else data)
            with Pillow.open(whole, formats=("JPEG", "PNG", "BMP")) as picture:
                deep = picture.mode.startswith("I")  # 16 bits, which Pillow would clip at 255
                pixels = np.asarray(picture, np.float32) // 256 if deep else np.asarray(picture.convert("RGB"))
        except Exception as error:  # Pillow raises all kinds of errors for broken files
            raise ValueError(f"expected {FORMATS}. Received: a corrupt one: {error}") from None
        return np.repeat(pixels[:, :, None], 3, axis=2) if pixels.ndim == 2 else pixels

    def size(self, data: bytes) -> tuple[int, int]:
        """Return height and width from the header of a file, without decoding it.

        Raises:
            ValueError: If the file is not an image, or if decoding it would be too expensive.
        """
        if not data.startswith((JPEG, PNG, BMP)):
            raise ValueError(f"expected {FORMATS}. Received: bytes that begin with {data[:8]!r}")
        if data.startswith(BMP) and (bits := int.from_bytes(data[28:30], "little")) < BMP_BITS:
            raise ValueError(f"expected a BMP picture of {BMP_BITS} bits a pixel or more. Received: {bits} bits")
        if data.startswith(PNG) and (texts := sum(map(data.count, COMPRESSED))) > TEXTS:
            raise ValueError(f"expected a PNG picture of at most {TEXTS} compressed texts. Received: {texts}")
        height, width = self._header(data)
        if not height or not width:
            raise ValueError(f"expected {FORMATS}. Received: a corrupt one: {width} x {height} pixels")
        if height * width > self.limit:
            raise TooLarge(f"expected a picture of at most {self.limit} pixels. Received: {width} x {height}")
        if max(height, width) > SIDE:
            raise TooLarge(f"expected a picture of at most {SIDE} pixels a side. Received: {width} x {height}")
        if data.startswith(JPEG) and (scans := data.count(SCAN)) * height * width > SCANNED:
            most = SCANNED // (height * width)
            raise TooLarge(f"expected a JPEG picture of this size with at most {most} scans. Received: {scans}")
        return height, width

    def _header(self, data: bytes) -> tuple[int, int]:
        """Return height and width from the header of the file, by its format."""
        if data.startswith(PNG):
            return int.from_bytes(data[20:24], "big"), int.from_bytes(data[16:20], "big")
        if data.startswith(BMP):  # a negative height means that rows are stored from the top down
            height, width = (int.from_bytes(data[i : i + 4], "little", signed=True) for i in (22, 18))
            return abs(height), abs(width)
        from PIL import Image as Pillow

        try:
            with Pillow.open(io.BytesIO(data), formats=("JPEG",)) as picture:
                return picture.height, picture.width
        except Pillow.DecompressionBombError:
            raise TooLarge(f"expected a picture of at most {self.limit} pixels. Received: many more") from None
        except Exception as error:  # Pillow raises all kinds of errors for broken files
            raise ValueError(f"expected {FORMATS}. Received: a corrupt one: {error}") from None

    def sample_inputs(self, count: int, seed: int = 0) -> list[bytes]:
        """Return noise images of several sizes, as PNG."""
        generator = random.Random(seed)
        return [png(generator, generator.randint(1, 40), generator.randint(1, 40)) for _ in range(count)]

    def get_config(self) -> dict[str, Any]:
        return {"height": self.height, "width": self.width, "limit": self.limit, "pad": self.pad}


class TooLarge(ValueError):
    """The error for an image that is too large to be decoded."""


def _bare_png(data: bytes) -> bytes:
    """Return a PNG with only the chunks required to decode its pixels, so that texts and profiles are not unpacked."""
    kept, place = [PNG], len(PNG)
    while place + 8 <= len(data):
        end = place + 12 + int.from_bytes(data[place : place + 4], "big")
        if data[place + 4 : place + 8] in _NEEDED:
            kept.append(data[place:end])
        place = end
    return b"".join(kept)


def inside(height: int, width: int, most_height: int, most_width: int) -> tuple[int, int]:
    """Return the largest size within the given limits that keeps the proportions of an image, which is never enlarged.

    >>> inside(100, 50, 20, 20), inside(3, 4, 20, 20), inside(1000, 1, 20, 20)
    ((20, 10), (3, 4), (20, 1))
    """
    if height <= most_height and width <= most_width:
        return height, width
    if height * most_width > width * most_height:
        return most_height, max(width * most_height // height, 1)
    return max(height * most_width // width, 1), most_width


def shares(given: int, wanted: int) -> np.ndarray:
    """Return the weight of each input row in each output row, a triangle around its center: `[wanted, given]`.

    >>> (shares(4, 2) * 7).round().tolist()
    [[3.0, 3.0, 1.0, 0.0], [0.0, 1.0, 3.0, 3.0]]
    """
    scale = np.float32(given) / np.float32(wanted)
    centres = (np.arange(wanted, dtype=np.float32) + 0.5) * scale - 0.5
    distances = np.abs(np.arange(given, dtype=np.float32) - centres[:, None]) / np.maximum(scale, 1)
    weights = np.maximum(1 - distances, 0)
    return weights / weights.sum(axis=1, keepdims=True)


def png(generator: random.Random, height: int, width: int) -> bytes:
    """Create a noise image as the bytes of a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + generator.randbytes(3 * width) for _ in range(height))
    return PNG + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
