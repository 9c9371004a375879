"""WAV files in the graph: the counterpart of `fields.wav`, for one file at a time."""

import math
from typing import NamedTuple

import tensorflow as tf

from seqattn_tf.lite.fields.wav import (
    BLOCKS,
    CHANNELS,
    CHUNKS,
    CROSSINGS,
    EXTENSIBLE,
    FORMATS,
    KINDS,
    PASSED,
    RATES,
    STREAMED,
)


class Header(NamedTuple):
    """The counterpart of the header in `fields.wav`; every value is a number, and `kind` is an index into `KINDS`."""

    kind: tf.Tensor
    width: tf.Tensor  # bytes per sample
    channels: tf.Tensor
    rate: tf.Tensor
    start: tf.Tensor
    samples: tf.Tensor


def _refuse(data: tf.Tensor, right: tf.Tensor, *said: object) -> tf.Tensor:
    """Return the data after asserting a condition, which otherwise raises INVALID_ARGUMENT."""
    with tf.control_dependencies([tf.debugging.Assert(right, list(said))]):
        return tf.identity(data)


def _number(data: tf.Tensor, place: tf.Tensor, kind: tf.DType) -> tf.Tensor:
    found = tf.io.decode_raw(tf.strings.substr(data, place, tf.constant(kind.size, tf.int64)), kind)
    return tf.cast(found[0], tf.int64) % (1 << 32)  # `decode_raw` has no unsigned type of 32 bits


def read_header(data: tf.Tensor, name: str) -> Header:
    """Read and check the header of a file; `name` is the input in error messages."""
    size = tf.cast(tf.strings.length(data), tf.int64)
    head = tf.strings.join([tf.strings.substr(data, 0, tf.cast(tf.minimum(size, 12), tf.int32)), b"\0" * 12])
    riff = (tf.strings.substr(head, 0, 4) == b"RIFF") & (tf.strings.substr(head, 8, 4) == b"WAVE")
    data = _refuse(data, riff, f"{name}: expected {FORMATS}, received other bytes:", size)
    told, room, start, length = _find_chunks(data, size, name)
    tag, channels, bits = (_number(data, told + place, tf.uint16) for place in (0, 2, 14))
    rate = _number(data, told + 4, tf.int32)
    hidden = (tag == EXTENSIBLE) & (room >= 26) & (told + 26 <= size)
    tag = tf.where(hidden, _number(data, told + tf.where(hidden, tf.constant(24, tf.int64), 0), tf.uint16), tag)
    kinds = tf.stack([(tag == wanted) & (bits == wide) for wanted, wide in KINDS])
    told_of = [f"{name}: expected {FORMATS}, received format", tag, "of bits", bits]
    known = tf.debugging.Assert(tf.reduce_any(kinds), told_of)
    fits = (channels >= 1) & (channels <= CHANNELS) & (rate >= RATES[0]) & (rate <= RATES[1])
    wanted = f"{name}: expected 1 to {CHANNELS} channels and {RATES[0]} to {RATES[1]} hertz, received"
    with tf.control_dependencies([known]):
        fitting = tf.debugging.Assert(fits, [wanted, channels, rate])
    whole = (length == STREAMED) | (start + length <= size)
    with tf.control_dependencies([fitting]):
        ends = tf.debugging.Assert(whole, [f"{name}: expected {FORMATS}, received a truncated one"])
    kind = tf.argmax(tf.cast(kinds, tf.int32), output_type=tf.int32)
    with tf.control_dependencies([known, fitting, ends]):  # check everything before anything is used
        kind, width, channels, rate = (tf.identity(number) for number in (kind, bits // 8, channels, rate))
        start, length = tf.identity(start), tf.identity(length)
    samples = tf.minimum(length, size - start) // tf.maximum(channels * width, 1)
    return Header(kind, width, channels, rate, start, samples)


def _find_chunks(data: tf.Tensor, size: tf.Tensor, name: str) -> tuple[tf.Tensor, ...]:
    """Return the start and size of the format chunk, and the start and size of the samples."""
    at, four, none = tf.constant(12, tf.int64), tf.constant(4, tf.int64), tf.constant(-1, tf.int64)

    def going(count: tf.Tensor, place: tf.Tensor, told: tf.Tensor, room: tf.Tensor, *found: tf.Tensor) -> tf.Tensor:
        start, _ = found
        return (start < 0) & (place + 8 <= size) & (count < CHUNKS)

    def chunk(count: tf.Tensor, place: tf.Tensor, told: tf.Tensor, room: tf.Tensor, *_: tf.Tensor) -> tuple:
        kind, length = tf.strings.substr(data, place, four), _number(data, place + 4, tf.int32)
        place += 8
        sounds = (kind == b"data") & (told >= 0)
        tells = (kind == b"fmt ") & (length >= 16) & (place + 16 <= size)
        told, room = tf.where(tells, place, told), tf.where(tells, length, room)
        return count + 1, place + length + length % 2, told, room, tf.where(sounds, place, none), length

    first = (tf.constant(0), at, none, none, none, none)
    _, place, told, room, start, length = tf.while_loop(going, chunk, first)
    message = f"{name}: expected a WAV sound with its samples in one of the first {CHUNKS} chunks, received more chunks"
    few = tf.debugging.Assert((start >= 0) | (place + 8 > size), [message])
    with tf.control_dependencies([few]):
        found = tf.debugging.Assert(start >= 0, [f"{name}: expected {FORMATS}, received a truncated one"])
    with tf.control_dependencies([found]):
        return tf.maximum(told, 0), tf.identity(room), tf.identity(start), tf.identity(length)


def _decoders() -> list:
    def pcm(kind: tf.DType, zero: float, scale: float) -> object:
        return lambda data: (tf.cast(tf.io.decode_raw(data, kind), tf.float64) - zero) / scale

    def three(data: tf.Tensor) -> tf.Tensor:
        wide = tf.pad(tf.reshape(tf.io.decode_raw(data, tf.uint8), [-1, 3]), [[0, 0], [1, 0]])
        return tf.cast(tf.bitcast(wide, tf.int32), tf.float64) / 2.0**31

    made = {"u1": pcm(tf.uint8, 128, 128), "<i2": pcm(tf.int16, 0, 2.0**15), "i3": three}
    made |= {"<i4": pcm(tf.int32, 0, 2.0**31), "<f4": pcm(tf.float32, 0, 1), "<f8": pcm(tf.float64, 0, 1)}
    return [made[kind] for kind in KINDS.values()]


def read_samples(data: tf.Tensor, header: Header, name: str) -> tf.Tensor:
    """Return the samples from -1 to 1, averaged over all channels: `[samples]`."""
    data = tf.strings.substr(data, header.start, header.samples * header.channels * header.width)
    found = tf.switch_case(header.kind, [lambda decode=decode: decode(data) for decode in _decoders()])
    finite = tf.reduce_all(tf.math.is_finite(found))
    found = _refuse(found, finite, f"{name}: expected finite samples, received NaN or infinity")
    return tf.cast(tf.reduce_mean(tf.reshape(found, [-1, header.channels]), axis=1), tf.float32)


def resample(samples: tf.Tensor, given: tf.Tensor, wanted: int) -> tf.Tensor:
    """Convert samples to another rate, by a windowed sinc."""
    before, after = (2 * given + BLOCKS) // (2 * BLOCKS), tf.constant(wanted // BLOCKS, tf.int64)
    count = tf.size(samples, tf.int64)

    def other() -> tf.Tensor:
        margin = -(-CROSSINGS * tf.maximum(before, after) * 100 // (round(100 * PASSED) * after))
        ratio = tf.cast(before, tf.float64) / tf.cast(after, tf.float64)
        columns = tf.minimum(after, -(-count * after // before))  # fewer if the sound is shorter than a block
        centres = tf.cast(tf.range(columns), tf.float64) * ratio
        taps = tf.range(-margin, margin + 1)[:, None] + tf.cast(tf.floor(centres), tf.int64)  # others have no weight
        apart = tf.cast(taps, tf.float64) - centres
        narrow = PASSED * tf.minimum(tf.constant(1, tf.float64), 1 / ratio)
        shape = tf.cos(tf.clip_by_value(narrow * apart / CROSSINGS, -1, 1) * math.pi / 2) ** 2
        turned = math.pi * narrow * apart
        sinc = tf.where(turned == 0.0, tf.ones_like(turned), tf.sin(turned) / turned)
        at = tf.stack([taps + margin, tf.broadcast_to(tf.range(columns), tf.shape(taps))], axis=2)
        weights = tf.cast(narrow * sinc * shape, tf.float32)
        weights = tf.scatter_nd(at, weights, tf.stack([before + 2 * margin, columns]))
        blocks = -(-count // before)
        padded = tf.pad(samples, [[margin, blocks * before - count + margin]])
        taken = tf.gather(padded, tf.range(blocks)[:, None] * before + tf.range(before + 2 * margin))
        return tf.reshape(tf.matmul(taken, weights), [-1])[: -(-count * after // before)]

    return tf.cond(before == after, lambda: samples, other)
