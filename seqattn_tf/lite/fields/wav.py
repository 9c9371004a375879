"""WAV files: what a header says, the samples themselves, and the same at another rate."""

import struct
from typing import NamedTuple

import numpy as np

RATES = (4_000, 192_000)  # samples a second, the fewest and the most
CHANNELS = 8  # at most; they are averaged
CHUNKS = 128  # before the samples: real files have a handful
BLOCKS = 25  # of a second: rates are met to so many hertz, which all that are in use divide by
CROSSINGS = 16  # of the sinc on either side
PASSED = 0.95  # of the lower one of two rates' halves, what a resampled sound keeps
_PCM, _FLOAT, EXTENSIBLE = 1, 3, 0xFFFE  # tags of what samples are; the last says it later
KINDS = {
    (_PCM, 8): "u1",
    (_PCM, 16): "<i2",
    (_PCM, 24): "i3",
    (_PCM, 32): "<i4",
    (_FLOAT, 32): "<f4",
    (_FLOAT, 64): "<f8",
}
STREAMED = 0xFFFFFFFF  # the size of a chunk whose writer did not know its end
FORMATS = "a WAV sound of 8, 16, 24 or 32 bits, or of floating-point numbers"


class Header(NamedTuple):
    """Where the samples of a file are, and what they are."""

    kind: str
    channels: int
    rate: int
    start: int  # of the first byte
    samples: int  # of each channel


def read_header(data: bytes) -> Header:
    """What a file says of itself.

    Raises:
        ValueError: it is no WAV file, a broken one, or one of another kind.
    """
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise ValueError(f"expected {FORMATS}. Received: bytes that begin with {data[:12]!r}")
    place, told, chunks = 12, None, 0
    while place + 8 <= len(data):
        if chunks == CHUNKS:
            first = f"one of the first {CHUNKS} chunks"
            raise ValueError(f"expected a WAV sound with its samples in {first}. Received: more chunks")
        chunks += 1
        name, size = struct.unpack_from("<4sI", data, place)
        place += 8
        if name == b"data" and told is not None:
            return _header(told, place, size, len(data))
        if name == b"fmt " and size >= 16 and place + 16 <= len(data):
            told = data[place : place + min(size, 26)]
        place += size + size % 2
    raise ValueError(f"expected {FORMATS}. Received: one that breaks off")


def _header(told: bytes, start: int, size: int, end: int) -> Header:
    tag, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", told)
    if tag == EXTENSIBLE and len(told) == 26:
        [tag] = struct.unpack_from("<H", told, 24)
    if (tag, bits) not in KINDS:
        raise ValueError(f"expected {FORMATS}. Received: format {tag} of {bits} bits")
    if not 1 <= channels <= CHANNELS or not RATES[0] <= rate <= RATES[1]:
        wanted = f"1 to {CHANNELS} channels and {RATES[0]} to {RATES[1]} hertz"
        raise ValueError(f"expected {wanted}. Received: {channels} and {rate}")
    if size != STREAMED and start + size > end:
        raise ValueError(f"expected {FORMATS}. Received: one that breaks off")
    return Header(KINDS[tag, bits], channels, rate, start, min(size, end - start) // (channels * bits // 8))


def read_samples(data: bytes, header: Header) -> np.ndarray:
    """The samples from -1 to 1, the mean of all channels: `[samples]`.

    Raises:
        ValueError: one of them is no number.
    """
    width = int(header.kind[-1])
    count = header.samples * header.channels
    values = np.frombuffer(data, np.uint8, count * width, header.start)
    if header.kind == "i3":
        wide = np.zeros([count, 4], np.uint8)
        wide[:, 1:] = values.reshape(-1, 3)  # 256 times as large
        found = wide.view("<i4")[:, 0] / 2.0**31
    else:
        found = values.view(header.kind).astype(np.float64)
        found = {"u": (found - 128) / 128, "i": found / 2.0 ** (8 * width - 1), "f": found}[header.kind.lstrip("<")[0]]
    if not np.isfinite(found).all():
        raise ValueError("expected samples that are numbers. Received: some that are not")
    return found.reshape(-1, header.channels).mean(axis=1).astype(np.float32)


def _blocks_of(rate: int) -> int:
    """Samples of a block at a rate, which is met to the nearest that has whole ones."""
    return (2 * rate + BLOCKS) // (2 * BLOCKS)


def _margin_of(given: int, wanted: int) -> int:
    """Samples around a block of `given` that count for a block of `wanted`."""
    return -(-CROSSINGS * max(given, wanted) * 100 // (round(100 * PASSED) * wanted))


def resample(samples: np.ndarray, given: int, wanted: int) -> np.ndarray:
    """Samples at another rate, by a windowed sinc.

    >>> tone = np.sin(2 * np.pi * 440 * np.arange(16_000) / 16_000).astype(np.float32)
    >>> lower = resample(tone, 16_000, 8_000)
    >>> bool(abs(lower - tone[::2])[100:-100].max() < 1e-3)
    True
    """
    before, after = _blocks_of(given), _blocks_of(wanted)
    if before == after:
        return samples
    margin = _margin_of(before, after)
    columns = min(after, -(-len(samples) * after // before))  # a sound shorter than a block has fewer
    centres = np.arange(columns) * (before / after)
    taps = np.arange(-margin, margin + 1)[:, None] + np.floor(centres).astype(np.int64)  # all others weigh nothing
    apart = taps - centres
    narrow = PASSED * min(1.0, after / before)
    shape = np.cos(np.clip(narrow * apart / CROSSINGS, -1, 1) * np.pi / 2) ** 2
    weights = np.zeros([before + 2 * margin, columns], np.float32)
    weights[taps + margin, np.arange(columns)] = narrow * np.sinc(narrow * apart) * shape
    count = -(-len(samples) // before)
    padded = np.pad(samples, (margin, count * before - len(samples) + margin))
    blocks = np.lib.stride_tricks.sliding_window_view(padded, before + 2 * margin)[::before][:count]
    return (blocks @ weights).reshape(-1)[: -(-len(samples) * after // before)]


def write_wav(samples: np.ndarray, rate: int) -> bytes:
    """Samples from -1 to 1 as the bytes of a WAV file of 16 bits; what is louder is cut off.

    >>> read_header(write_wav(np.zeros(10), 8_000)).samples
    10
    """
    body = np.clip(np.rint(np.asarray(samples) * 32768), -32768, 32767).astype("<i2").tobytes()
    head = struct.pack("<4sIHHIIHH", b"fmt ", 16, _PCM, 1, rate, 2 * rate, 2, 16)
    whole = b"WAVE" + head + struct.pack("<4sI", b"data", len(body)) + body
    return struct.pack("<4sI", b"RIFF", len(whole)) + whole
