"""Sounds as frames of energies, in the graph; durations are read from the headers before anything is decoded."""

import tensorflow as tf

from seqattn_tf.core.masking import frames_mask, length_mask, row_lengths
from seqattn_tf.inputs.base import FieldTensors, GraphField, Tensors, check_batch, padded_rows
from seqattn_tf.inputs.text import check_length
from seqattn_tf.inputs.wav import Header, read_header, read_samples, resample
from seqattn_tf.lite.fields.sound import BATCH, CENTRE, FLOOR, SILENT, SPREAD, Sound, mel_bands


class GraphSound(GraphField):
    """The graph counterpart of `Sound`. A frame of zeros is padding, because no sound contains one."""

    name_in_registry = "sound"

    field: Sound

    def __init__(self, field: Sound, name: str) -> None:
        super().__init__(field, name)
        self.tensors = {"frames": tf.TensorSpec([None, None, field.n_mels], tf.float32)}

    def read(self, raw: tf.Tensor) -> FieldTensors:
        """Return the frames, with the start times of the positions."""
        headers, seconds = self._headers(raw)
        padded = tf.cast(tf.size(seconds), tf.float64) * tf.reduce_max(tf.pad(seconds, [[0, 1]]))
        most = max(BATCH, self.field.max_seconds)
        check = check_batch(self.input_name, "sounds", most, "seconds, padded to the longest,", padded)
        with tf.control_dependencies([check]):
            frames = self._read(tf.identity(raw), headers)
        return FieldTensors({"frames": frames}, {"": self._places(frames)})

    def encode_unbounded(self, raw: tf.Tensor) -> Tensors:
        """Return the frames of any number of sounds."""
        return {"frames": self._read(raw, self._headers(raw)[0])}

    def _headers(self, raw: tf.Tensor) -> tuple[Header, tf.Tensor]:
        """Return the header of each file and its duration in seconds; raise an error for sounds that are too long."""

        def header(data: tf.Tensor) -> tuple[Header, tf.Tensor]:
            found = read_header(data, self.input_name)
            seconds = tf.cast(found.samples, tf.float64) / tf.cast(found.rate, tf.float64)
            message = f"{self.input_name}: expected a sound of at most {self.field.max_seconds:g} seconds, received"
            with tf.control_dependencies([tf.debugging.Assert(seconds <= self.field.max_seconds, [message, seconds])]):
                return Header(*(tf.identity(number) for number in found)), tf.identity(seconds)

        number = tf.TensorSpec([], tf.int64)
        made = Header(tf.TensorSpec([], tf.int32), number, number, number, number, number)
        return tf.map_fn(header, raw, fn_output_signature=(made, tf.TensorSpec([], tf.float64)))

    def _read(self, raw: tf.Tensor, headers: Header) -> tf.Tensor:
        shape = tf.RaggedTensorSpec([None, self.field.n_mels], tf.float32, ragged_rank=0)
        frames = tf.map_fn(lambda row: self._frames(*row), (raw, headers), fn_output_signature=shape)
        return padded_rows(frames, [self.field.n_mels])

    def _frames(self, data: tf.Tensor, header: Header) -> tf.Tensor:
        field = self.field
        samples = resample(read_samples(data, header, self.input_name), header.rate, field.sample_rate)
        wide = tf.cast(samples, tf.float64)
        size = tf.sqrt(tf.reduce_sum(wide * wide) / tf.cast(tf.maximum(tf.size(samples), 1), tf.float64))
        size = tf.cast(size, tf.float32)
        samples = tf.cond(size > SILENT, lambda: samples / size, lambda: samples[:0])
        count = -(-tf.size(samples) // field.samples)
        whole = tf.maximum(count - 1, 0) * field.samples + len(field.window)
        framed = tf.signal.frame(tf.pad(samples, [[0, whole - tf.size(samples)]]), len(field.window), field.samples)
        framed = tf.pad(framed[:count] * field.window, [[0, 0], [0, field.bins - len(field.window)]])
        power = tf.square(tf.abs(tf.signal.rfft(framed)))
        energies = tf.math.log(tf.matmul(power, mel_bands(field.n_mels, field.bins, field.sample_rate)) + FLOOR)
        return (energies - CENTRE) / SPREAD

    def _places(self, frames: tf.Tensor) -> tf.Tensor:
        """Return the start time of each position, padded with empty strings."""
        field = self.field
        counts = -(-row_lengths(frames_mask(frames)) // field.frames_per_position)
        number = tf.range(-(-tf.shape(frames)[1] // field.frames_per_position))
        times = number * field.frames_per_position * field.hop_ms
        rest = tf.strings.as_string(times % 1000 // 10, width=2, fill="0")
        names = tf.strings.join([tf.strings.as_string(times // 1000), ".", rest, " s"])
        return tf.where(number < counts[:, None], names, "")

    @property
    def wire(self) -> dict[str, tf.TensorSpec]:
        """The specs of the frames and of their lengths, which are needed because servers pad with arbitrary values."""
        return {**self.tensors, "lengths": tf.TensorSpec([None], tf.int32)}

    def to_wire(self, raw: tf.Tensor) -> Tensors:
        """Return frames and lengths."""
        frames = self.encode(raw)["frames"]
        return {"frames": frames, "lengths": row_lengths(frames_mask(frames))}

    def from_wire(self, sent: Tensors) -> Tensors:
        """Check the number of frames and set those beyond the lengths to zero."""
        frames, most = sent["frames"], self.field.limit * self.field.frames_per_position
        with tf.control_dependencies([check_length(most, tf.shape(frames)[1], f"{self.input_name}_frames")]):
            frames = tf.identity(frames)
        meant = length_mask(sent["lengths"], tf.shape(frames)[1])
        return {"frames": tf.where(meant[..., None], frames, 0.0)}
