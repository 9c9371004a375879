"""Files and texts designed to cost far more than their size, through false headers or extreme compression."""

import functools
import io
import struct
import zlib

from PIL import Image as Pillow

from seqattn_tf.lite.fields import Clip, Image, Lines, Map, ParsedWords, Sound, Text, TreeText, Words
from seqattn_tf.lite.text import SymbolRules
from support.sounds import wav

_WORDS = SymbolRules(("the", "cat", "sat", "\n"), tokenizer="spaces", unknown=True)
_TOKENS = SymbolRules(("the", "cat", "n't", ".", "sat"), tokenizer="tokens", lowercase=True, unknown=True)
_LETTERS = SymbolRules(tuple("aceht.'"), unknown=True)
FIELDS = {
    "image": Image(32, 32),
    "clip": Clip(32, 32),
    "sound": Sound(),
    "map": Map(2, 3, 2),
    "text": Text(_WORDS, 50),
    "lines": Lines(_WORDS, 50),
    "words": Words(_TOKENS, _LETTERS, 50),
    "parsed_words": ParsedWords(_TOKENS, _TOKENS, _LETTERS, 50),
    "tree": TreeText(_TOKENS, 50),
}


def chunk(kind, data, size=None):
    size = len(data) if size is None else size
    return struct.pack(">I", size) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, before=b"", after=b"", rows=True):
    """Return a white PNG with one bit per pixel; `before` and `after` are chunks around its pixels."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    body = b""
    if rows:
        packer, row, left = zlib.compressobj(6), b"\0" + b"\xff" * (-(-width // 8)), height
        while left:
            some = min(left, max((1 << 24) // len(row), 1))
            body += packer.compress(row * some)
            left -= some
        body += packer.flush()
    image = chunk(b"IHDR", header) + before + chunk(b"IDAT", body) + after + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + image


def ztxt(size):
    return chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(size).replace(b"\0", b"x"), 9))


def itxt(size):
    return chunk(b"iTXt", b"a\0\1\0\0\0" + zlib.compress(b"x" * size, 9))


def iccp(size):
    """Return an ICC profile chunk with the given size, and with the correct size in its header."""
    profile = struct.pack(">I", size) + bytes(32) + b"acsp" + bytes(size - 40)
    return chunk(b"iCCP", b"a\0\0" + zlib.compress(profile, 9))


def jpeg(width=64, height=64, **how):
    data = io.BytesIO()
    Pillow.new("RGB", (width, height), "white").save(data, "JPEG", **how)
    return data.getvalue()


def claimed(data, width, height):
    """Return a JPEG with another size in its header."""
    place = next(i for i in range(len(data)) if data[i : i + 2] in (b"\xff\xc0", b"\xff\xc2"))
    return data[: place + 5] + struct.pack(">HH", height, width) + data[place + 9 :]


def scans(count, side=5_600):
    """Return a progressive JPEG of one color with `count` scans, all of which set the last coefficient to zero."""
    tables = b"\xff\xdb\x00\x43\x00" + bytes([1] * 64)
    frame = b"\xff\xc2" + struct.pack(">HBHHBBBB", 11, 8, side, side, 1, 1, 0x11, 0)
    codes = b"\xff\xc4" + struct.pack(">HB", 20, 0x00) + bytes([1] + [0] * 15) + b"\x00"  # DC: no difference
    codes += b"\xff\xc4" + struct.pack(">HB", 20, 0x10) + bytes([1] + [0] * 15) + b"\xe0"  # AC: a run of 2**14 blocks
    blocks = (-(-side // 8)) ** 2
    first = b"\xff\xda" + struct.pack(">HBBBBBB", 8, 1, 1, 0x00, 0, 0, 0) + bytes(-(-blocks // 8))
    run = "".join("0" + format(0, "014b") for _ in range(-(-blocks // (1 << 14))))
    run += "1" * (-len(run) % 8)
    packed = bytes(int(run[i : i + 8], 2) for i in range(0, len(run), 8)).replace(b"\xff", b"\xff\x00")
    more = b"\xff\xda" + struct.pack(">HBBBBBB", 8, 1, 1, 0x00, 63, 63, 0) + packed
    return b"\xff\xd8" + tables + frame + codes + first + more * count + b"\xff\xd9"


def bmp(width, height, bits=24, size=1_000):
    return (
        b"BM"
        + struct.pack("<IHHI", 54 + size, 0, 0, 54)
        + struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, 0, size, 0, 0, 0, 0)
        + bytes(size)
    )


def gif(blocks, width=8, height=8):
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff" + blocks + b";"


def frame(size=1, width=8, height=8):
    """Return an uncompressed frame of one color whose data are in sub-blocks of `size` bytes."""
    bits = "".join(format(code, "03b")[::-1] for code in (4, 0, 0) * 8)  # a clear code, then two pixels
    group = bytes(int(bits[i : i + 8][::-1], 2) for i in range(0, len(bits), 8))  # 16 pixels in 9 bytes
    found = group * (width * height // 16) + b"\x05"  # and the end code
    parts = b"".join(bytes([len(found[i : i + size])]) + found[i : i + size] for i in range(0, len(found), size))
    return b"," + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02" + parts + b"\0"


def small_blocks(count, kind=0xFE):
    """Return an extension (a comment) with sub-blocks of one byte."""
    return bytes([0x21, kind]) + b"\x01x" * count + b"\0"


large = functools.cache(png)
CASES = {  # by field: values that must be cheap, whether they are accepted or rejected
    "image": {
        "a png of one row": lambda: [large(1 << 25, 1)],
        "a png of one column": lambda: [large(1, 1 << 25)],
        "a png of 100 megapixels": lambda: [large(10_000, 10_000)],
        "a png of -1 pixels": lambda: [png(2**32 - 1, 1, rows=False)],
        "a png of 2**31 rows": lambda: [png(4, 2**31, rows=False)],
        "a png of no pixels": lambda: [png(0, 0, rows=False)],
        "a png with text that unpacks": lambda: [png(8, 8, ztxt(7_000_000) * 100)],
        "a png with international text that unpacks": lambda: [png(8, 8, itxt(7_000_000) * 100)],
        "a png with text after its pixels": lambda: [png(8, 8, after=ztxt(7_000_000) * 100)],
        "a png with a profile that unpacks": lambda: [png(8, 8, iccp(7_900_000) * 20)],
        "a png with empty chunks": lambda: [png(8, 8, chunk(b"teSt", b"") * 80_000)],
        "a png with many short texts": lambda: [png(8, 8, chunk(b"tEXt", b"a\0b") * 50_000)],
        "a png with a chunk of 2 GB": lambda: [png(8, 8, chunk(b"teSt", b"x", 2**31 - 1))],
        "a png with empty data": lambda: [png(8, 8, chunk(b"IDAT", b"") * 80_000)],
        "a jpeg that claims 65500 x 65500": lambda: [claimed(jpeg(), 65_500, 65_500)],
        "a jpeg that claims 5700 x 5700": lambda: [claimed(jpeg(), 5_700, 5_700)],
        "a jpeg with many scans": lambda: [scans(2_000)],
        "a jpeg with empty comments": lambda: [jpeg()[:2] + b"\xff\xfe\x00\x02" * 200_000 + jpeg()[2:]],
        "a bmp of the least height": lambda: [bmp(1, -(2**31))],
        "a bmp of the least width": lambda: [bmp(-(2**31), 1)],
        "a bmp as large as can be": lambda: [bmp(2**31 - 1, 2**31 - 1, 32)],
        "a bmp of one row": lambda: [bmp(1 << 25, 1)],
    },
    "clip": {
        "a gif of 1-byte sub-blocks": lambda: [gif(frame(1, 800, 800), 800, 800)],
        "a gif with a comment in 1-byte sub-blocks": lambda: [gif(small_blocks(400_000) + frame())],
        "a gif with an application's 1-byte sub-blocks": lambda: [gif(small_blocks(400_000, 0xFF) + frame())],
        "a gif with empty extensions": lambda: [gif(b"\x21\xfe\0" * 250_000 + frame())],
        "a gif with comments": lambda: [gif(small_blocks(20) * 20_000 + frame())],
        "a gif of a large screen": lambda: [gif(frame(), 65_535, 65_535)],
        "a gif of many small frames on a large screen": lambda: [gif(frame() * 60, 4_000, 4_000)],
        "a gif of 100 000 frames": lambda: [gif(frame() * 20_000)],
        "a gif of frames with palettes": lambda: [
            gif((b"," + struct.pack("<HHHHB", 0, 0, 1, 1, 0x87) + bytes(768) + b"\x02\0") * 1_000)
        ],
        "a strip of one row": lambda: [large(1 << 24, 1)],
        "a strip of one column": lambda: [large(1, 1 << 24)],
        "a jpeg strip with many scans": lambda: [scans(2_000, 4_000)],
    },
    "sound": {
        "10 MHz": lambda: [wav("u1", rate=10_000_000, samples=4_000)],
        "4 GHz": lambda: [wav("u1", rate=2**32 - 1, samples=4_000)],
        "no samples a second": lambda: [_rate(wav("u1", samples=4_000), 0)],
        "65535 channels": lambda: [_channels(wav("u1", samples=4_000), 65_535)],
        "empty chunks": lambda: [wav(extra=b"junk\0\0\0\0" * 100_000)],
        "a chunk of 4 GB": lambda: [wav(extra=b"junk\xfe\xff\xff\xff")],
        "data of 4 GB": lambda: [wav(size=2**32 - 2)],
    },
    "map": {"a megabyte": lambda: [bytes(1_000_000)]},
}
SIZE = 200_000  # size of a text in bytes
TEXTS = {
    "one word": lambda: [b"a" * SIZE],
    "blanks": lambda: [b" " * SIZE],
    "words": lambda: [b"the " * (SIZE // 4)],
    "lines": lambda: [b"\n" * SIZE],
    "stops": lambda: [b"." * SIZE],
    "apostrophes": lambda: [b"n't" * (SIZE // 3)],
    "open brackets": lambda: [b"(" * SIZE],
    "nested brackets": lambda: [b"(a " * (SIZE // 4) + b"x" + b")" * (SIZE // 4)],
    "other bytes": lambda: [b"\xff" * SIZE],
    "combining marks": lambda: ["\u0301".encode() * (SIZE // 2)],
    "ligatures that unfold": lambda: ["\ufdfa".encode() * (SIZE // 3)],
    "nothing": lambda: [bytes(SIZE)],
}
BATCHES = {  # batches for a graph whose values may be valid alone, but not together
    "image": {
        "1000 pngs of 32 megapixels": lambda: [large(5_792, 5_792)] * 1_000,
        "70 000 pngs of one pixel": lambda: [png(1, 1)] * 70_000,
    },
    "clip": {
        "300 gifs of 16 megapixels": lambda: [gif(frame() * 16, 1_000, 1_000)] * 300,
        "300 strips of 16 megapixels": lambda: [large(4_096, 4_096)] * 300,
        "a long one and 3000 short ones": lambda: [png(64 * 32, 32), *[png(1, 1)] * 3_000],
    },
    "sound": {"a long one and 3000 short ones": lambda: [wav(samples=240_000), *[wav(samples=1)] * 3_000]},
}
AT_ONCE = {"sound": {"at 192 kHz": lambda: [wav("u1", rate=192_000, samples=100)] * 300}}  # accepted, but must be fast
CASES |= dict.fromkeys(("text", "lines", "words", "tree"), TEXTS)
# The most expensive cases; "nothing" is read like "words".
UNFOLDED = ("words", "open brackets", "ligatures that unfold", "nothing")
CASES |= {"parsed_words": {case: TEXTS[case] for case in UNFOLDED}}


def _rate(data, rate):
    return data[:24] + struct.pack("<I", rate) + data[28:]


def _channels(data, channels):
    return data[:22] + struct.pack("<H", channels) + data[24:]
