"""Spoken digits, single or in sequence: the Free Spoken Digit Dataset, or telephone dial tones.

    fsdd/fsdd_train.tar.xz  fsdd/fsdd_test.tar.xz        or a folder with {digit}_{speaker}_{index}.wav

For each speaker and digit, recordings 0 to 4 are the official test split, and 5 to 7 are held out for development. A
string of digits consists of recordings of one speaker from one split, with pauses or overlaps between them, in noise.
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
STRINGS = {"dev": 300, "test": 1000, "beyond": 300}  # the number of strings in each split, if strings are made
_WANTED = "spoken digits, {digit}_{speaker}_{index}.wav in the folder or in .tar.xz files"
DIAL = ((697, 770, 852, 941), (1209, 1336, 1477))  # frequencies in hertz of the rows and columns of a telephone keypad
RATE = 8_000  # samples per second of everything made here
_PAUSE = (-0.06, 0.3)  # seconds between two digits; negative if they overlap
_NOISE = (0.003, 0.1)  # relative to the loudness of the digits
BEYOND = "beyond"  # the note of a string longer than those in training
TONES = 30  # dial tones of each digit


class Take(NamedTuple):
    """One recording of a spoken or dialled digit."""

    digit: int
    speaker: str
    number: int
    data: Any  # bytes of a WAV file, or an object that reads them


class Joined(NamedTuple):
    """A sequence of sounds in noise, made when it is read and the same for the same seed."""

    parts: tuple[Any, ...]
    seed: int

    def read(self) -> bytes:
        """Return the bytes of a WAV file.

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
    """Return the samples of a sound at the common rate, normalized in loudness."""
    data = data if isinstance(data, bytes) else data.read()
    header = read_header(data)
    samples = resample(read_samples(data, header), header.rate, RATE)
    return samples / max(float(np.sqrt(np.mean(samples**2))) if len(samples) else 0.0, 1e-4)


def tones() -> list[Take]:
    """Return telephone dial tones for the ten digits, of varying duration and slightly off pitch."""
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
    """Return whether a folder contains spoken digits."""
    there = [path.name for path in Path(data).iterdir()] if Path(data).is_dir() else []
    return any(re.fullmatch(r"fsdd.*\.tar\.xz|\d_[^_]+_\d+\.wav", name) for name in there)


def recordings(folder: Path) -> list[Take]:
    """Return the spoken digits in a folder or in its tar files, sorted by digit, speaker and number."""
    found: dict[str, Any] = {**in_folder(folder, [".wav"])}
    for path in sorted(folder.glob("*.tar.xz")):
        try:
            with tarfile.open(path, "r:xz") as tar:
                found |= {Path(m.name).name: file.read() for m in tar if (file := tar.extractfile(m))}
        except (tarfile.TarError, EOFError, OSError) as error:
            raise ValueError(f"{path}: expected a complete .tar.xz archive of sounds. Received: {error}") from None
    takes = [_take(name, data) for name, data in found.items() if name.endswith(".wav")]
    if not takes:
        raise ValueError(f"{folder}: expected {_WANTED}. Received: {sorted(path.name for path in folder.iterdir())}")
    return sorted(takes, key=lambda take: take[:3])


def _take(name: str, data: Any) -> Take:
    parts = name.removesuffix(".wav").split("_")
    if len(parts) != 3 or not (parts[0].isdecimal() and len(parts[0]) == 1 and parts[2].isdecimal()):
        raise ValueError(f"{name}: expected a file name like 7_theo_12.wav. Received: a different one")
    return Take(int(parts[0]), parts[1], int(parts[2]), data)


def load(
    folder: str | Path | None = None,
    digits: Sequence[int] = (1, 1),
    num_examples: int = 20_000,
    max_test_digits: int = 0,
    held_out_speaker: str = "",
    seed: int = 0,
) -> Splits:
    """Load digits with their sounds.

    Args:
        folder: The folder of the Free Spoken Digit Dataset; None for telephone dial tones.
        digits: The minimum and maximum number of digits in a string; `(1, 1)` to use each recording unchanged.
        num_examples: The number of training strings to make.
        max_test_digits: The number of digits of some additional, longer test strings; 0 for none.
        held_out_speaker: A speaker to exclude from training, who is then the only one in the test split.
        seed: The seed of the strings.
    """
    takes = tones() if folder is None else recordings(check_folder(folder, _WANTED))
    speakers = sorted({take.speaker for take in takes})
    if held_out_speaker and held_out_speaker not in speakers:
        raise ValueError(f"held_out_speaker: expected one of {speakers}. Received: {held_out_speaker!r}")
    parts: dict[str, list[Take]] = {"train": [], "dev": [], "test": []}
    for take in takes:
        part = "test" if take.number in _TEST else "dev" if take.number in _DEV else "train"
        if held_out_speaker:
            part = "test" if take.speaker == held_out_speaker else "dev" if part == "dev" else "train"
        parts[part].append(take)
    if lacking := [name for name, listed in parts.items() if not listed]:
        raise ValueError(f"{folder}: expected recordings for each split. Received: none for {lacking[0]}")
    origin = "tones of a telephone" if folder is None else "Free Spoken Digit Dataset"
    origin += f", {held_out_speaker} left out" if held_out_speaker else ""
    if max(digits) == 1 and not max_test_digits:
        alone = {part: [_alone(take) for take in listed] for part, listed in parts.items()}
        return Splits(alone["train"], alone["dev"], alone["test"], origin)
    counts = {"train": num_examples, "dev": STRINGS["dev"], "test": STRINGS["test"]}
    made = {part: _strings(parts[part], part, count, digits, seed) for part, count in counts.items()}
    longer = (
        _strings(parts["test"], BEYOND, STRINGS[BEYOND], (max_test_digits, max_test_digits), seed)
        if max_test_digits
        else []
    )
    notes = {example.key: BEYOND for example in longer}
    spoken = f"{origin}, strings of {digits[0]} to {digits[1]} digits"
    return Splits(made["train"], made["dev"], [*made["test"], *longer], spoken, notes)


def _alone(take: Take) -> Example:
    return Example(f"{take.digit}_{take.speaker}_{take.number}", {"sound": take.data}, str(take.digit))


def _strings(takes: Sequence[Take], part: str, count: int, digits: Sequence[int], seed: int) -> list[Example]:
    """Return random strings of digits, each from recordings of a single speaker."""
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
