"""A sound, from the bytes of its file, as the energies of bands of pitch over time."""

import functools
from typing import Any

import numpy as np

from seqattn_tf.core.registry import check_count
from seqattn_tf.lite.fields.base import Field
from seqattn_tf.lite.fields.wav import BLOCKS, read_header, read_samples, resample, write_wav

SILENT = 1e-4  # the mean size of samples below which nothing is heard
FLOOR = 1e-2  # of an energy, where samples have a mean size of 1
CENTRE, SPREAD = 1.0, 3.0  # of the logarithms of energies, about
WINDOW = 2.5  # hops
BATCH = 4 * 3600.0  # seconds of all sounds that a graph reads at once, each as long as the longest


class Sound(Field):
    """One sound of a WAV file: logarithms of the energies of mel bands, at every hop.

    Of all channels the mean is heard, at one rate and as loud as any other. A silent sound has nothing to read.

    Args:
        rate: samples a second to which a file is brought.
        bands: numbers of a frame.
        hop: milliseconds from frame to frame.
        per_place: frames of a place that attention may point at: as many as an encoder puts into one value.
        seconds: longer sounds are refused before they are decoded.

    >>> sound = Sound(per_place=2)
    >>> tone = write_wav(np.sin(np.arange(800)), 8_000)
    >>> sound.arrays(tone)["frames"].shape, sound.places(tone)
    ((10, 40), ('0.00 s', '0.02 s', '0.04 s', '0.06 s', '0.08 s'))
    """

    name_in_registry = "sound"
    kind = "sound"

    def __init__(
        self, rate: int = 8_000, bands: int = 40, hop: int = 10, per_place: int = 4, seconds: float = 30.0
    ) -> None:
        self.rate, self.bands = check_count("rate", rate), check_count("bands", bands)
        self.hop, self.per_place = check_count("hop", hop), check_count("per_place", per_place)
        self.seconds = float(seconds)
        if rate % BLOCKS or rate * hop % 1000:
            raise ValueError(f"rate: expected whole samples in a hop, and a multiple of {BLOCKS}. Received: {rate}")
        if not seconds > 0:
            raise ValueError(f"seconds: expected a number above 0. Received: {seconds}")
        self.limit = -(-self.count_frames(int(self.seconds * rate)) // per_place)

    @property
    def samples(self) -> int:
        """Of a hop."""
        return self.rate * self.hop // 1000

    def count_frames(self, samples: int) -> int:
        """Frames of so many samples at the rate."""
        return -(-samples // self.samples)

    @property
    def window(self) -> np.ndarray:
        """What a frame hears of the samples around it: `[samples]`."""
        size = int(self.samples * WINDOW)
        return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)).astype(np.float32)

    @property
    def bins(self) -> int:
        """Samples of a Fourier transform: the next power of two after a window."""
        return 1 << (len(self.window) - 1).bit_length()

    def wave(self, value: Any) -> np.ndarray:
        """The samples at the rate, as loud as any other: `[samples]`, none of a silent sound."""
        data = self.raw(value)
        header = read_header(data)
        if header.samples > self.seconds * header.rate:
            long = header.samples / header.rate
            raise ValueError(f"expected a sound of at most {self.seconds:g} seconds. Received: {long:.1f}")
        samples = resample(read_samples(data, header), header.rate, self.rate)
        size = np.sqrt(np.mean(np.square(samples, dtype=np.float64))) if len(samples) else 0.0
        return samples / np.float32(size) if size > SILENT else samples[:0]

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """The frames: `[frames, bands]`."""
        samples, size = self.wave(value), len(self.window)
        count = self.count_frames(len(samples))
        padded = np.pad(samples, (0, max(count - 1, 0) * self.samples + size - len(samples)))
        framed = np.lib.stride_tricks.sliding_window_view(padded, size)[:: self.samples][:count] * self.window
        power = np.square(np.abs(np.fft.rfft(framed, self.bins)))
        energies = np.log(power @ mel_bands(self.bands, self.bins, self.rate) + FLOOR)
        return {"frames": ((energies - CENTRE) / SPREAD).astype(np.float32)}

    def places(self, value: Any, level: str = "") -> tuple[str, ...]:
        """When each place begins."""
        count = -(-self.count_frames(len(self.wave(value))) // self.per_place)
        times = [i * self.per_place * self.hop for i in range(count)]
        return tuple(f"{time // 1000}.{time % 1000 // 10:02d} s" for time in times)

    def picture(self, value: Any) -> np.ndarray:
        """The energies as grey, high bands above, dark where there is most: `[bands, frames of all places, 3]`."""
        frames, low = self.arrays(value)["frames"].T[::-1], (np.log(FLOOR) - CENTRE) / SPREAD
        frames = np.pad(frames, [(0, 0), (0, -frames.shape[1] % self.per_place)], constant_values=low)
        grey = 255 - 255 * (frames - low) / max(frames.max(initial=low) - low, 1e-6)
        return np.repeat(grey[..., None], 3, axis=2).astype(np.uint8)

    def made_up(self, count: int, seed: int = 0) -> list[bytes]:
        """Tones in noise, of a tenth to half a second."""
        generator = np.random.default_rng(seed)
        found = []
        for _ in range(count):
            time = np.arange(generator.integers(self.rate // 10, self.rate // 2)) / self.rate
            tones = sum(np.sin(2 * np.pi * pitch * time) for pitch in generator.uniform(80, self.rate / 3, 3))
            found.append(write_wav(0.1 * (tones + generator.normal(size=len(time))), self.rate))
        return found

    def odd(self) -> list[str | bytes]:
        """Nothing, silence, one sample, and other rates."""
        found: list[str | bytes] = [write_wav(np.zeros(size), self.rate) for size in (0, 900)]
        tone = 0.3 * np.sin(np.arange(4_000) / 9)
        return [*found, write_wav(np.ones(1), 8_000), *(write_wav(tone, rate) for rate in (11_025, 44_100))]

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {name: getattr(self, name) for name in ("rate", "bands", "hop", "per_place", "seconds")}


@functools.lru_cache(maxsize=8)
def mel_bands(bands: int, bins: int, rate: int) -> np.ndarray:
    """How much of each pitch goes into each band: triangles, evenly apart as ears hear, `[pitches, bands]`.

    >>> mel_bands(4, 64, 8_000).shape
    (33, 4)
    """
    pitch = _mel(np.arange(bins // 2 + 1) * rate / bins)[:, None]
    edges = np.linspace(0, _mel(np.float64(rate / 2)), bands + 2)
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    rising, falling = (pitch - low) / (middle - low), (high - pitch) / (high - middle)
    return np.clip(np.minimum(rising, falling), 0, None).astype(np.float32)


def _mel(hertz: np.ndarray) -> np.ndarray:
    return 1127 * np.log1p(hertz / 700)
