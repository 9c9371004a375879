"""Spoken digits, alone or several after another: the Free Spoken Digit Dataset, or tones as telephones dial them.

    fsdd/fsdd_train.tar.xz  fsdd/fsdd_test.tar.xz        or a folder with {digit}_{speaker}_{index}.wav

Of each speaker and digit, recordings 0 to 4 are the official test split; 5 to 7 are held out for development. A string
of digits is made of recordings of one speaker in one split, with pauses or overlaps between them, in noise.
"""

import re
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqattn_tf.lite.fields.wav import read_header, read_samples, resample, write_wav
from seqattn_tf.training.data.examples import Example, Splits
from seqattn_tf.training.data.finding import check_folder
from seqattn_tf.training.data.stored import in_folder

_TEST, _DEV = range(5), range(5, 8)  # numbers of a speaker's recordings of a digit
STRINGS = {"dev": 300, "test": 1000, "beyond": 300}  # of several digits, where strings are made
_WANTED = "spoken digits, {digit}_{speaker}_{index}.wav in the folder or in .tar.xz files"
DIAL = ((697, 770, 852, 941), (1209, 1336, 1477))  # hertz of the rows and columns of a telephone's keys
RATE = 8_000  # samples a second of all that is made here
_PAUSE = (-0.06, 0.3)  # seconds between two digits; below 0 they overlap
_NOISE = (0.003, 0.1)  # of the size of what is said
BEYOND = "beyond"  # the note of a string that is longer than those to learn from
TONES = 30  # recordings of each digit of a telephone


class Take(NamedTuple):
    """One digit, said or dialled once."""

    digit: int
    speaker: str
    number: int
    data: Any  # bytes of a WAV file, or what reads them


class Joined(NamedTuple):
    """Sounds one after another in noise; made when they are read, the same for the same seed."""

    parts: tuple[Any, ...]
    seed: int

    def read(self) -> bytes:
        """The bytes of a WAV file.

        >>> one = write_wav(np.sin(np.arange(4000)), RATE)
        >>> len(Joined((one, one), seed=1).read()) > 2 * 4000
        True
        """
        generator = np.random.default_rng(self.seed)
        waves = [generator.uniform(0.5, 1) * _wave(part) for part in self.parts]
        starts, at = [], int(generator.uniform(0, _PAUSE[1]) * RATE)
        for wave in waves:
            starts.append(max(at, 0))
            at += len(wave) + int(generator.uniform(*_PAUSE) * RATE)
        whole = np.zeros(max(at, *(start + len(wave) for start, wave in zip(starts, waves, strict=True))), np.float32)
        for start, wave in zip(starts, waves, strict=True):
            whole[start : start + len(wave)] += wave
        noise = np.exp(generator.uniform(*np.log(_NOISE)))
        whole += generator.normal(size=len(whole)).astype(np.float32) * noise
        return write_wav(0.2 * whole, RATE)


def _wave(data: Any) -> np.ndarray:
    """Samples at the one rate, as loud as any other."""
    data = data if isinstance(data, bytes) else data.read()
    header = read_header(data)
    samples = resample(read_samples(data, header), header.rate, RATE)
    return samples / max(float(np.sqrt(np.mean(samples**2))) if len(samples) else 0.0, 1e-4)


def tones() -> list[Take]:
    """The ten digits as a telephone dials them, of many lengths and slightly off their pitch."""
    generator, found = np.random.default_rng(0), []
    for digit in range(10):
        row, column = divmod(digit - 1, 3) if digit else (3, 1)
        for number in range(TONES):
            time = np.arange(int(generator.uniform(0.08, 0.3) * RATE)) / RATE
            pitches = (hertz * generator.uniform(0.99, 1.01) for hertz in (DIAL[0][row], DIAL[1][column]))
            wave = np.sum([np.sin(2 * np.pi * (hertz * time + generator.random())) for hertz in pitches], axis=0)
            found.append(Take(digit, "telephone", number, write_wav(0.3 * wave, RATE)))
    return found


def is_digits(data: str | Path) -> bool:
    """Whether a folder has spoken digits."""
    there = [path.name for path in Path(data).iterdir()] if Path(data).is_dir() else []
    return any(re.fullmatch(r"fsdd.*\.tar\.xz|\d_[^_]+_\d+\.wav", name) for name in there)


def recordings(folder: Path) -> list[Take]:
    """What a folder or its tars have of spoken digits, by digit, speaker and number."""
    found: dict[str, Any] = {**in_folder(folder, [".wav"])}
    for path in sorted(folder.glob("*.tar.xz")):
        try:
            with tarfile.open(path, "r:xz") as tar:
                found |= {Path(m.name).name: file.read() for m in tar if (file := tar.extractfile(m))}
        except (tarfile.TarError, EOFError, OSError) as error:
            raise ValueError(f"{path}: expected a whole .tar.xz of sounds. Received: {error}") from None
    takes = [_take(name, data) for name, data in found.items() if name.endswith(".wav")]
    if not takes:
        raise ValueError(f"{folder}: expected {_WANTED}. Received: {sorted(path.name for path in folder.iterdir())}")
    return sorted(takes, key=lambda take: take[:3])


def _take(name: str, data: Any) -> Take:
    parts = name.removesuffix(".wav").split("_")
    if len(parts) != 3 or not (parts[0].isdecimal() and len(parts[0]) == 1 and parts[2].isdecimal()):
        raise ValueError(f"{name}: expected a name like 7_theo_12.wav. Received: another")
    return Take(int(parts[0]), parts[1], int(parts[2]), data)


def load(
    folder: str | Path | None = None,
    digits: Sequence[int] = (1, 1),
    examples: int = 20_000,
    beyond: int = 0,
    left_out: str = "",
    seed: int = 0,
) -> Splits:
    """Digits with their sounds.

    Args:
        folder: of the Free Spoken Digit Dataset; None for a telephone's tones.
        digits: of a string, the fewest and the most; `(1, 1)` for every recording as it is.
        examples: strings that are made to learn from.
        beyond: digits of some more test strings; 0 for none.
        left_out: a speaker of whom nothing is learned, and who alone is tested.
        seed: of the strings.
    """
    takes = tones() if folder is None else recordings(check_folder(folder, _WANTED))
    speakers = sorted({take.speaker for take in takes})
    if left_out and left_out not in speakers:
        raise ValueError(f"left_out: expected one of {speakers}. Received: {left_out!r}")
    parts: dict[str, list[Take]] = {"train": [], "dev": [], "test": []}
    for take in takes:
        part = "test" if take.number in _TEST else "dev" if take.number in _DEV else "train"
        if left_out:
            part = "test" if take.speaker == left_out else "dev" if part == "dev" else "train"
        parts[part].append(take)
    if lacking := [name for name, listed in parts.items() if not listed]:
        raise ValueError(f"{folder}: expected recordings of every split. Received: none to {lacking[0]}")
    origin = "tones of a telephone" if folder is None else "Free Spoken Digit Dataset"
    origin += f", {left_out} left out" if left_out else ""
    if max(digits) == 1 and not beyond:
        alone = {part: [_alone(take) for take in listed] for part, listed in parts.items()}
        return Splits(alone["train"], alone["dev"], alone["test"], origin)
    counts = {"train": examples, "dev": STRINGS["dev"], "test": STRINGS["test"]}
    made = {part: _strings(parts[part], part, count, digits, seed) for part, count in counts.items()}
    longer = _strings(parts["test"], BEYOND, STRINGS[BEYOND], (beyond, beyond), seed) if beyond else []
    notes = {example.key: BEYOND for example in longer}
    spoken = f"{origin}, {digits[0]} to {digits[1]} after another"
    return Splits(made["train"], made["dev"], [*made["test"], *longer], spoken, notes)


def _alone(take: Take) -> Example:
    return Example(f"{take.digit}_{take.speaker}_{take.number}", {"sound": take.data}, str(take.digit))


def _strings(takes: Sequence[Take], part: str, count: int, digits: Sequence[int], seed: int) -> list[Example]:
    """Strings of one speaker's recordings each."""
    generator = np.random.default_rng([seed, *part.encode()])
    by_speaker: dict[str, list[Take]] = {}
    for take in takes:
        by_speaker.setdefault(take.speaker, []).append(take)
    speakers = sorted(by_speaker)
    found = []
    for number in range(count):
        own = by_speaker[speakers[generator.integers(len(speakers))]]
        chosen = [own[i] for i in generator.integers(len(own), size=generator.integers(digits[0], digits[1] + 1))]
        sound = Joined(tuple(take.data for take in chosen), int(generator.integers(2**31)))
        found.append(Example(f"{part} {number}", {"sound": sound}, " ".join(str(take.digit) for take in chosen)))
    return found
