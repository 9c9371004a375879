"""Sounds compared with SciPy and TensorFlow ops: contents of files, other sampling rates, and band energies."""

import io

import numpy as np
import pytest
import tensorflow as tf
from support.sounds import wav

from seqattn_tf.inputs import graph_field
from seqattn_tf.inputs.wav import read_header as read_in_graph
from seqattn_tf.lite.fields import Sound
from seqattn_tf.lite.fields.sound import CENTRE, FLOOR, SPREAD, mel_bands
from seqattn_tf.lite.fields.wav import read_header, read_samples, resample, write_wav


@pytest.mark.parametrize(("kind", "scale"), [("u1", 128), ("<i2", 2**15), ("<i4", 2**31), ("<f4", 1), ("<f8", 1)])
@pytest.mark.parametrize("channels", [1, 2])
def test_samples_are_those_that_scipy_reads(kind, scale, channels):
    from scipy.io import wavfile

    data = wav(kind, channels=channels, samples=501)
    rate, expected = wavfile.read(io.BytesIO(data))
    header = read_header(data)
    expected = (expected.reshape(-1, channels) - (128.0 if kind == "u1" else 0.0)).mean(axis=1) / scale
    assert (header.rate, header.samples, header.channels) == (rate, 501, channels)
    np.testing.assert_allclose(read_samples(data, header), expected, atol=1e-6)


def test_samples_of_24_bits_are_those_of_16_with_more_digits():
    deep, plain = (read_samples(data, read_header(data)) for data in (wav("i3"), wav("<i2")))
    np.testing.assert_allclose(deep, plain, atol=2**-15)
    assert np.abs(deep - plain).max() > 2**-18
    assert deep.min() < -0.2  # signs are preserved


def test_scipy_reads_what_is_written():
    from scipy.io import wavfile

    rate, samples = wavfile.read(io.BytesIO(write_wav(np.array([0.0, 0.5, -1.0, 3.0]), 16_000)))
    assert (rate, samples.tolist()) == (16_000, [0, 16384, -32768, 32767])


@pytest.mark.parametrize("given", [8_000, 11_025, 16_000, 22_050, 44_100, 48_000])
def test_another_rate_is_that_of_scipy(given):
    from scipy.signal import resample_poly

    time = np.arange(given) / given
    sound = sum(np.sin(2 * np.pi * hertz * time) for hertz in (100, 440, 1500, 3000)).astype(np.float32)
    found = resample(sound, given, 8_000)
    common = np.gcd(given, 8_000)
    expected = resample_poly(sound, 8_000 // common, given // common, window=("kaiser", 12.0))
    exact = sum(np.sin(2 * np.pi * hertz * np.arange(8_000) / 8_000) for hertz in (100, 440, 1500, 3000))
    assert len(found) == len(expected) == 8_000
    inner = slice(400, -400)
    assert np.abs(found - exact)[inner].max() < 0.02
    assert np.abs(found - exact)[inner].max() < 1.5 * np.abs(expected - exact)[inner].max() + 5e-3


def test_what_a_lower_rate_cannot_hold_is_gone():
    high = np.sin(2 * np.pi * 5_500 * np.arange(48_000) / 48_000).astype(np.float32)
    assert np.abs(resample(high, 48_000, 8_000))[200:-200].max() < 0.01  # not aliased to 2500 Hz


def test_bands_are_those_of_tensorflow():
    expected = tf.signal.linear_to_mel_weight_matrix(40, 129, 8_000, 0.0, 4_000.0)
    np.testing.assert_allclose(mel_bands(40, 256, 8_000), expected, atol=1e-5)


def test_energies_are_those_of_tensorflow():
    data = wav(samples=4_000)
    field = Sound()
    wave = field.wave(data)
    assert np.sqrt(np.mean(wave**2)) == pytest.approx(1, abs=1e-5)
    heard = tf.signal.stft(tf.pad(wave, [[0, 200]]), 200, 80, 256, pad_end=False)
    bands = tf.signal.linear_to_mel_weight_matrix(40, 129, 8_000, 0.0, 4_000.0)
    expected = (np.log(tf.abs(heard) ** 2 @ bands + FLOOR) - CENTRE) / SPREAD
    frames = field.arrays(data)["frames"]
    assert frames.shape == (50, 40)
    np.testing.assert_allclose(frames, expected[:50], atol=1e-3)
    assert frames.mean(axis=0).argmax() in range(2, 12)  # a tone of 300 Hz is low


def test_loudness_does_not_matter_and_silence_is_nothing_to_read():
    field = Sound()
    loud, quiet = (field.arrays(wav("<f4", loud=size))["frames"] for size in (0.5, 0.01))
    np.testing.assert_allclose(loud, quiet, atol=1e-3)
    assert field.arrays(wav(loud=0))["frames"].shape == (0, 40)
    assert field.positions(wav(loud=0)) == ()


def test_places_are_named_by_their_time_and_the_picture_has_low_bands_below():
    field = Sound(frames_per_position=8)
    data = wav(samples=8_000 * 2)
    assert field.positions(data)[:2] == ("0.00 s", "0.08 s")
    assert field.positions(data)[-1] == "1.92 s"
    picture = field.picture(data)
    assert picture.shape == (40, 200, 3)
    assert picture[30:].mean() < picture[:10].mean() - 20
    assert field.picture(wav(loud=0)).shape == (40, 0, 3)
    assert field.picture(wav(samples=80 * 9)).shape == (40, 16, 3)  # the last frame is complete
    assert (field.picture(wav(samples=80 * 9))[:, 9:] == 255).all()


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="sample_rate: expected a multiple of 25 with an integer number of samples"):
        Sound(sample_rate=8_001)
    with pytest.raises(ValueError, match="max_seconds: expected a number above 0"):
        Sound(max_seconds=0)
    with pytest.raises(ValueError, match="n_mels: expected a positive integer"):
        Sound(n_mels=0)


def test_a_long_sound_is_refused_by_its_header_alone():
    """The file contains only a header, so the samples are not needed."""
    long = bytearray(wav(samples=8_000 * 20)[:5_000])
    field = Sound(max_seconds=2)
    for told in (8_000 * 20 * 2, 0xFFFFFFFF):
        long[40:44] = told.to_bytes(4, "little")
    assert len(field.arrays(bytes(long))["frames"]) == 31  # of a streamed file, the existing samples are read
    with pytest.raises(ValueError, match=r"expected a sound of at most 2 seconds\. Received: 20\.0"):
        field.arrays(wav(samples=8_000 * 20))


@pytest.mark.parametrize("extra", [b"", b"LIST\x05\0\0\0INFO!\0", b"a   \x01\0\0\0x\0b   \x03\0\0\0xyz\0"])
@pytest.mark.parametrize("before", [False, True])
def test_a_chunk_of_odd_size_is_followed_by_a_byte_of_padding(extra, before):
    """Without it, the next chunk would be searched one byte too early. Applies to both halves."""
    data = wav("<i2", samples=100, extra=b"" if before else extra)
    data = data[:12] + extra * before + data[12:]
    header, found = read_header(data), read_in_graph(tf.constant(data), "it")
    assert (header.start, header.samples, header.rate) == (44 + len(extra), 100, 8_000)
    assert (int(found.start), int(found.samples), int(found.rate)) == (44 + len(extra), 100, 8_000)


def test_a_limit_in_seconds_counts_at_the_rate_of_the_file():
    """With the sampling rate of the network, a file of 4 kHz could last twice as long, one of 16 kHz half as long."""
    field = Sound(max_seconds=0.5)
    graph = graph_field(field, "it")
    fine = [wav("u1", rate=rate, samples=rate // 2) for rate in (4_000, 8_000, 16_000)]
    assert {len(field.arrays(data)["frames"]) for data in fine} == {50}
    assert graph.encode(tf.constant(fine))["frames"].shape == (3, 50, 40)
    for rate in (4_000, 8_000, 16_000):
        long = wav("u1", rate=rate, samples=rate // 2 + 1)
        with pytest.raises(ValueError, match=r"expected a sound of at most 0\.5 seconds"):
            field.arrays(long)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"it: expected a sound of at most 0\.5 seconds"):
            graph.encode(tf.constant([long]))
