"""Pictures from users: valid ones of every kind, and invalid ones."""

import io
import struct
import zlib

import numpy as np
from PIL import Image as Pillow

NOISE = np.random.default_rng(0).integers(0, 256, [20, 30, 3], np.uint8)
COLOUR = Pillow.fromarray(NOISE)
HUGE = 10_000  # pixels per side


def written(picture, form="PNG", **how):
    data = io.BytesIO()
    picture.save(data, form, **how)
    return data.getvalue()


def huge():
    """Return a complete PNG of a hundred equal megapixels, in a few hundred kilobytes."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    compress = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    row = compress.compress(bytes(3 * HUGE + 1)) + compress.flush(zlib.Z_FULL_FLUSH)  # can be repeated
    check = (3 * HUGE + 1) * HUGE % 65521 << 16 | 1  # checksum of zeros
    rows = b"\x78\xda" + row * HUGE + compress.flush() + struct.pack(">I", check)
    header = struct.pack(">IIBBBBB", HUGE, HUGE, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


FINE = {
    "jpeg": written(COLOUR, "JPEG"),
    "bmp": written(COLOUR, "BMP"),
    "cmyk": written(COLOUR.convert("CMYK"), "JPEG"),
    "greyscale": written(COLOUR.convert("L")),
    "transparent": written(COLOUR.convert("RGBA")),
    "palette": written(COLOUR.convert("P")),
    "16-bit": written(Pillow.fromarray(NOISE[..., 0].astype(np.uint16) * 200)),
    "one pixel": written(COLOUR.resize((1, 1))),
    "animated png": written(COLOUR, save_all=True, append_images=[COLOUR.transpose(Pillow.Transpose.ROTATE_180)]),
    "large": written(COLOUR.resize((700, 500)), "JPEG"),
}
READABLE = "expected a JPEG, PNG or BMP picture"
BAD = {
    "empty": (b"", READABLE),
    "text": (b"no picture", READABLE),
    "half a png": (written(COLOUR)[:900], ""),
    "half a jpeg": (written(COLOUR, "JPEG")[:300], ""),
    "animated gif": (written(COLOUR, "GIF", save_all=True, append_images=[COLOUR]), READABLE),
    "tiff": (written(COLOUR, "TIFF"), READABLE),
    "webp": (written(COLOUR, "WEBP"), READABLE),
    "a jpeg in name only": (b"\xff\xd8\xff" + written(COLOUR), ""),
    "100 megapixels": (huge(), "expected a picture of at most 33554432 pixels"),
}
