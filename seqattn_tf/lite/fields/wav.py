"""WAV files: reading headers and samples, resampling, and writing."""

import struct
from typing import NamedTuple

import numpy as np

RATES = (4_000, 192_000)  # the lowest and the highest number of samples per second
CHANNELS = 8  # maximum number of channels, which are averaged
CHUNKS = 128  # maximum number of chunks before the samples; real files have a handful
BLOCKS = 25  # blocks per second; rates are rounded to multiples of it, which all common rates are
CROSSINGS = 16  # zero crossings of the sinc on either side
PASSED = 0.95  # the share of the lower of both Nyquist frequencies that resampling preserves
_PCM, _FLOAT, EXTENSIBLE = 1, 3, 0xFFFE  # format tags; with the last one, the actual tag follows later
KINDS = {
    (_PCM, 8): "u1",
    (_PCM, 16): "<i2",
    (_PCM, 24): "i3",
    (_PCM, 32): "<i4",
    (_FLOAT, 32): "<f4",
    (_FLOAT, 64): "<f8",
}
STREAMED = 0xFFFFFFFF  # the size of a chunk whose writer did not know its length
FORMATS = "a WAV sound of 8, 16, 24 or 32 bits, or of floating-point numbers"


class Header(NamedTuple):
    """The location and the format of the samples of a file."""

    kind: str
    channels: int
    rate: int
    start: int  # the offset of the first byte
    samples: int  # the number of samples per channel


def read_header(data: bytes) -> Header:
    """Read the header of a file.

    Raises:
        ValueError: If the file is not a WAV file, is damaged, or has an unsupported format.
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
    raise ValueError(f"expected {FORMATS}. Received: a truncated one")


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
        raise ValueError(f"expected {FORMATS}. Received: a truncated one")
    return Header(KINDS[tag, bits], channels, rate, start, min(size, end - start) // (channels * bits // 8))


def read_samples(data: bytes, header: Header) -> np.ndarray:
    """Return the samples from -1 to 1, averaged over all channels: `[samples]`.

    Raises:
        ValueError: If a sample is not a finite number.
    """
    width = int(header.kind[-1])
    count = header.samples * header.channels
    values = np.frombuffer(data, np.uint8, count * width, header.start)
    if header.kind == "i3":
        wide = np.zeros([count, 4], np.uint8)
        wide[:, 1:] = values.reshape(-1, 3)  # scaled by 256
        found = wide.view("<i4")[:, 0] / 2.0**31
    else:
        found = values.view(header.kind).astype(np.float64)
        found = {"u": (found - 128) / 128, "i": found / 2.0 ** (8 * width - 1), "f": found}[header.kind.lstrip("<")[0]]
    if not np.isfinite(found).all():
        raise ValueError("expected finite samples. Received: NaN or infinity")
    return found.reshape(-1, header.channels).mean(axis=1).astype(np.float32)


def _blocks_of(rate: int) -> int:
    """Return the number of samples per block at a rate, rounded to the nearest integer."""
    return (2 * rate + BLOCKS) // (2 * BLOCKS)


def _margin_of(given: int, wanted: int) -> int:
    """Return the number of samples around a block of `given` that contribute to a block of `wanted`."""
    return -(-CROSSINGS * max(given, wanted) * 100 // (round(100 * PASSED) * wanted))


def resample(samples: np.ndarray, given: int, wanted: int) -> np.ndarray:
    """Convert samples to another rate, by a windowed sinc.

    >>> tone = np.sin(2 * np.pi * 440 * np.arange(16_000) / 16_000).astype(np.float32)
    >>> lower = resample(tone, 16_000, 8_000)
    >>> bool(abs(lower - tone[::2])[100:-100].max() < 1e-3)
    True
    """
    before, after = _blocks_of(given), _blocks_of(wanted)
    if before == after:
        return samples
    margin = _margin_of(before, after)
    columns = min(after, -(-len(samples) * after // before))  # fewer if the sound is shorter than a block
    centres = np.arange(columns) * (before / after)
    taps = np.arange(-margin, margin + 1)[:, None] + np.floor(centres).astype(np.int64)  # all others have no weight
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
    """Encode samples from -1 to 1 as the bytes of a 16-bit WAV file; louder samples are clipped.

    >>> read_header(write_wav(np.zeros(10), 8_000)).samples
    10
    """
    body = np.clip(np.rint(np.asarray(samples) * 32768), -32768, 32767).astype("<i2").tobytes()
    head = struct.pack("<4sIHHIIHH", b"fmt ", 16, _PCM, 1, rate, 2 * rate, 2, 16)
    whole = b"WAVE" + head + struct.pack("<4sI", b"data", len(body)) + body
    return struct.pack("<4sI", b"RIFF", len(whole)) + whole
