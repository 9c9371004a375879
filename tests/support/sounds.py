"""WAV files of every kind, written without a library."""

import struct

import numpy as np

TAGS = {"u": 1, "i": 1, "f": 3}


def wav(kind="<i2", rate=8_000, channels=1, samples=3_000, loud=0.3, **other):
    """Return a file with tones and noise, different in each channel; `other` changes fields of its header."""
    generator = np.random.default_rng(samples)
    time = np.arange(samples)[:, None] / rate
    pitches = np.array([300, 500, 800, 1300])[np.arange(max(channels, 1)) % 4]
    wave = np.nan_to_num(loud, nan=0.3) * (
        np.sin(2 * np.pi * pitches * time) + 0.05 * generator.normal(size=(samples, 1))
    )
    width = int(kind[-1])
    kept = kind.lstrip("<")[0]
    if kind == "i3":
        body = b"".join(int(value).to_bytes(3, "little", signed=True) for value in np.rint(wave.ravel() * 2**23))
    elif kept == "f":
        body = (wave if np.isfinite(loud) else wave * np.nan).astype(kind).tobytes()
    else:
        body = np.rint(wave * 2.0 ** (8 * width - 1) + (128 if kept == "u" else 0)).astype(kind).tobytes()
    tag, bits = other.get("tag", TAGS[kept]), other.get("bits", 8 * width)
    step = channels * width
    told = struct.pack("<HHIIHH", 0xFFFE if other.get("extensible") else tag, channels, rate, rate * step, step, bits)
    if other.get("extensible"):
        told += struct.pack("<HHIH", 22, bits, 0, tag) + bytes(14)
    chunks = b"fmt " + struct.pack("<I", len(told)) + told + other.get("extra", b"")
    chunks += b"data" + struct.pack("<I", other.get("size", len(body))) + body + b"\0" * (len(body) % 2)
    return b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WAVE" + chunks
