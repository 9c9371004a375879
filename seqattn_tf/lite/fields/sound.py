"""A sound, from the bytes of its file, as the energies of frequency bands over time."""

import functools
from typing import Any

import numpy as np

from seqattn_tf.core.registry import check_count
from seqattn_tf.lite.fields.base import Field
from seqattn_tf.lite.fields.wav import BLOCKS, read_header, read_samples, resample, write_wav

SILENT = 1e-4  # sounds whose root mean square is not above it are silent
FLOOR = 1e-2  # added to the energies of sounds with a root mean square of 1
CENTRE, SPREAD = 1.0, 3.0  # the approximate mean and spread of log energies
WINDOW = 2.5  # the length of the window in hops
BATCH = 4 * 3600.0  # maximum seconds of all sounds that a graph reads at once, padded to the longest


class Sound(Field):
    """One sound from a WAV file, as the logarithms of mel band energies at every hop.

    All channels are averaged, resampled to one rate and normalized to the same loudness. A silent sound has no frames.

    Args:
        sample_rate: The number of samples per second to which files are converted.
        n_mels: The number of mel bands of a frame.
        hop_ms: The time between two frames in milliseconds.
        frames_per_position: The number of frames per attention position, which is the number of frames that an encoder
            combines into one value.
        max_seconds: The maximum duration; longer sounds are rejected before they are decoded.

    >>> sound = Sound(frames_per_position=2)
    >>> tone = write_wav(np.sin(np.arange(800)), 8_000)
    >>> sound.arrays(tone)["frames"].shape, sound.positions(tone)
    ((10, 40), ('0.00 s', '0.02 s', '0.04 s', '0.06 s', '0.08 s'))
    """

    name_in_registry = "sound"
    widget = "sound"

    def __init__(
        self,
        sample_rate: int = 8_000,
        n_mels: int = 40,
        hop_ms: int = 10,
        frames_per_position: int = 4,
        max_seconds: float = 30.0,
    ) -> None:
        self.sample_rate, self.n_mels = check_count("sample_rate", sample_rate), check_count("n_mels", n_mels)
        self.hop_ms, self.frames_per_position = (
            check_count("hop_ms", hop_ms),
            check_count("frames_per_position", frames_per_position),
        )
        self.max_seconds = float(max_seconds)
        if sample_rate % BLOCKS or sample_rate * hop_ms % 1000:
            raise ValueError(
                f"sample_rate: expected a multiple of {BLOCKS} with an integer number of samples per hop. "
                f"Received: {sample_rate}"
            )
        if not max_seconds > 0:
            raise ValueError(f"max_seconds: expected a number above 0. Received: {max_seconds}")
        self.limit = -(-self.count_frames(int(self.max_seconds * sample_rate)) // frames_per_position)

    @property
    def samples(self) -> int:
        """The number of samples of a hop."""
        return self.sample_rate * self.hop_ms // 1000

    def count_frames(self, samples: int) -> int:
        """Return the number of frames of `samples` samples at the field's rate."""
        return -(-samples // self.samples)

    @property
    def window(self) -> np.ndarray:
        """The window function of a frame over its samples: `[samples]`."""
        size = int(self.samples * WINDOW)
        return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)).astype(np.float32)

    @property
    def bins(self) -> int:
        """The size of the Fourier transform: the power of two that is not below the window size."""
        return 1 << (len(self.window) - 1).bit_length()

    def wave(self, value: Any) -> np.ndarray:
        """Return the resampled and normalized samples: `[samples]`, none for a silent sound."""
        data = self.raw(value)
        header = read_header(data)
        if header.samples > self.max_seconds * header.rate:
            long = header.samples / header.rate
            raise ValueError(f"expected a sound of at most {self.max_seconds:g} seconds. Received: {long:.1f}")
        samples = resample(read_samples(data, header), header.rate, self.sample_rate)
        size = np.sqrt(np.mean(np.square(samples, dtype=np.float64))) if len(samples) else 0.0
        return samples / np.float32(size) if size > SILENT else samples[:0]

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """Return the frames `[frames, bands]`."""
        samples, size = self.wave(value), len(self.window)
        count = self.count_frames(len(samples))
        padded = np.pad(samples, (0, max(count - 1, 0) * self.samples + size - len(samples)))
        framed = np.lib.stride_tricks.sliding_window_view(padded, size)[:: self.samples][:count] * self.window
        power = np.square(np.abs(np.fft.rfft(framed, self.bins)))
        energies = np.log(power @ mel_bands(self.n_mels, self.bins, self.sample_rate) + FLOOR)
        return {"frames": ((energies - CENTRE) / SPREAD).astype(np.float32)}

    def positions(self, value: Any, level: str = "") -> tuple[str, ...]:
        """Return the start time of each position."""
        count = -(-self.count_frames(len(self.wave(value))) // self.frames_per_position)
        times = [i * self.frames_per_position * self.hop_ms for i in range(count)]
        return tuple(f"{time // 1000}.{time % 1000 // 10:02d} s" for time in times)

    def picture(self, value: Any) -> np.ndarray:
        """Return the energies in gray, with high bands at the top and high energies dark: `[bands, frames, 3]`.

        The frames are padded to whole positions.
        """
        frames, low = self.arrays(value)["frames"].T[::-1], (np.log(FLOOR) - CENTRE) / SPREAD
        frames = np.pad(frames, [(0, 0), (0, -frames.shape[1] % self.frames_per_position)], constant_values=low)
        grey = 255 - 255 * (frames - low) / max(frames.max(initial=low) - low, 1e-6)
        return np.repeat(grey[..., None], 3, axis=2).astype(np.uint8)

    def sample_inputs(self, count: int, seed: int = 0) -> list[bytes]:
        """Return random tones in noise, of a tenth to half a second."""
        generator = np.random.default_rng(seed)
        found = []
        for _ in range(count):
            time = np.arange(generator.integers(self.sample_rate // 10, self.sample_rate // 2)) / self.sample_rate
            tones = sum(np.sin(2 * np.pi * pitch * time) for pitch in generator.uniform(80, self.sample_rate / 3, 3))
            found.append(write_wav(0.1 * (tones + generator.normal(size=len(time))), self.sample_rate))
        return found

    def edge_cases(self) -> list[str | bytes]:
        """Return an empty sound, silence, a single sample, and sounds at other rates."""
        found: list[str | bytes] = [write_wav(np.zeros(size), self.sample_rate) for size in (0, 900)]
        tone = 0.3 * np.sin(np.arange(4_000) / 9)
        return [*found, write_wav(np.ones(1), 8_000), *(write_wav(tone, rate) for rate in (11_025, 44_100))]

    def get_config(self) -> dict[str, Any]:
        return {
            name: getattr(self, name)
            for name in ("sample_rate", "n_mels", "hop_ms", "frames_per_position", "max_seconds")
        }


@functools.lru_cache(maxsize=8)
def mel_bands(bands: int, bins: int, rate: int) -> np.ndarray:
    """Return the weight of each frequency in each band: triangles evenly spaced on the mel scale, `[bins, bands]`.

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
