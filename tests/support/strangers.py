"""An external package with a field, two systems and a recipe for each, unknown to our package."""

import dataclasses
import datetime
import io
import random
import tarfile

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.attention import Attention
from seqattn_tf.cells import Cell
from seqattn_tf.decoders.symbols import SymbolDecoder
from seqattn_tf.encoders import Encoder, EncoderOutput
from seqattn_tf.inputs.base import FieldTensors, GraphField
from seqattn_tf.lite.fields import Field, Image, Text
from seqattn_tf.lite.targets import Label, Symbols
from seqattn_tf.models import EncoderDecoder, Model, Seq2Seq
from seqattn_tf.models.base import only_where
from seqattn_tf.training.data import Example, Splits
from seqattn_tf.training.data.stored import in_tar
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.tasks import Settings, Task

# A custom field: a date.


class Date(Field):
    """A day, as three numbers from 0 to 1."""

    name_in_registry = "date"

    def __init__(self, limit: int = 10) -> None:
        self.limit = limit

    def arrays(self, value):
        text = self.raw(value).decode("utf-8", "replace")
        try:
            day = datetime.date.fromisoformat(text)
        except ValueError:
            raise ValueError(f"expected YYYY-MM-DD. Received: {text!r:.40}") from None
        return {"numbers": np.float32([day.year / 4000, day.month / 12, day.day / 31])}

    def sample_inputs(self, count, seed=0):
        first, generator = datetime.date(1970, 1, 1), random.Random(seed)
        return [str(first + datetime.timedelta(generator.randrange(30_000))) for _ in range(count)]

    def get_config(self):
        return {"limit": self.limit}


class GraphDate(GraphField):
    """The graph counterpart of `Date`."""

    name_in_registry = "date"
    tensors = {"numbers": tf.TensorSpec([None, 3], tf.float32)}

    def read(self, raw):
        fits = tf.strings.regex_full_match(raw, r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
        message = f"{self.input_name}: expected YYYY-MM-DD, received"
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(fits), [message, raw])]):
            parts = tf.strings.split(tf.identity(raw), "-").to_tensor("0", shape=[None, 3])
        return FieldTensors({"numbers": tf.strings.to_number(parts) / [4000.0, 12.0, 31.0]}, {})


# Two texts and a day as inputs, a label as output; each letter of the first text attends to the second.


@keras.saving.register_keras_serializable("strangers")
class MatchNetwork(keras.Model):
    """Letters of one text attend to those of another; the result depends on their contexts and on the day."""

    def __init__(self, vocabulary, labels, units=16, **kwargs):
        super().__init__(**kwargs)
        self.arguments = {"vocabulary": vocabulary, "labels": labels, "units": units}
        self.embedding = keras.layers.Embedding(vocabulary, units)
        self.attention = Attention("scaled_dot", "softmax")
        self.hidden = keras.layers.Dense(units, activation="relu")
        self.logits = keras.layers.Dense(labels)

    def build(self, input_shape=None):
        units = self.arguments["units"]
        self.embedding.build((None, None))
        self.attention.build((None, None, units), (None, None, units))
        self.hidden.build((None, 2 * units + 3))
        self.logits.build((None, units))
        self.built = True

    def look(self, tensors):
        masks = [tensors[f"{name}_ids"] != 0 for name in ("first", "second")]
        first, second = (self.embedding(tensors[f"{name}_ids"]) for name in ("first", "second"))
        found, weights = self.attention(first, second, mask=masks[1])
        kept = tf.cast(masks[0], first.dtype)[..., None]
        far = tf.abs(first - found) * kept
        summary = [tf.reduce_sum(far, axis=1), tf.reduce_max(far, axis=1), tensors["when_numbers"]]
        return self.logits(self.hidden(tf.concat(summary, axis=-1))), weights * kept

    def call(self, tensors, training=False):
        return self.look(tensors)[0]

    def get_config(self):
        return {**super().get_config(), **self.arguments}


class Matcher(Model):
    """A model for whether two texts are the same, in the first or in the second half of a year."""

    name_in_registry = "matcher"
    attention_maps = {"second": "first"}

    def infer(self, tensors):
        logits, weights = self.network.look(tensors)
        found = {**self.graph_target.decode(logits), "second_attention": weights}
        return only_where(tf.reduce_any(tensors["first_ids"] != 0, axis=1), found)


class MatchTask(Task):
    def build(self, settings, train):
        texts = [*train.inputs("first"), *train.inputs("second")]
        fields = {"first": Text.learn(texts, limit=12), "second": Text.learn(texts, limit=12), "when": Date()}
        target = Label.learn(train.targets)
        network = MatchNetwork(fields["first"].rules.size, target.size, settings.units)
        return Matcher(network, fields, target)


def matches(count, seed):
    """Return pairs of words, half of which are equal, and their labels in each half of a year."""
    generator = random.Random(seed)
    for number in range(count):
        first = "".join(generator.choices("abcd", k=generator.randint(2, 6)))
        second = first if generator.random() < 0.5 else "".join(generator.choices("abcd", k=4))
        [when] = Date().sample_inputs(1, seed + number)
        half = "early" if int(when[5:7]) < 7 else "late"
        inputs = {"first": first, "second": second, "when": when}
        yield Example(f"{first} {second} {when}", inputs, f"{'same' if first == second else 'other'} {half}")


match = Recipe(
    name="match",
    summary="two words and a day -> whether they are the same, and in which half of the year",
    load=lambda data, settings: Splits(*(list(matches(n, n)) for n in (400, 40, 40)), "made up"),
    task=MatchTask(),
    settings=Settings(units=16, epochs=15, batch_size=40, learning_rate=3e-2, warmup_steps=5, label_smoothing=0.0),
    small=Settings(units=16, epochs=15, batch_size=40, learning_rate=3e-2, warmup_steps=5, label_smoothing=0.0),
)


# A picture as input, a text as output, with attention over its grid.

COLOURS = {"red": (200, 40, 40), "blue": (40, 60, 200)}
SIDE, CELLS = 16, 4


@keras.saving.register_keras_serializable("strangers")
class PatchEncoder(Encoder):
    """An encoder that reads a picture in patches, one for each cell of a grid."""

    name_in_registry = "patches"
    field_type = "image"

    def __init__(self, units=16, **kwargs):
        super().__init__(**{"input_name": "image", **kwargs})
        self.units = units
        step = SIDE // CELLS
        self.patches = keras.layers.Conv2D(units, step, strides=step, activation="relu", name="patches")

    def build(self, input_shape=None):
        self.patches.build((None, SIDE, SIDE, 3))
        self.places = self.add_weight(name="places", shape=(CELLS * CELLS, self.units))
        self.built = True

    output_size = summary_size = property(lambda self: self.units)

    def call(self, tensors, training=False):
        found = self.patches(self.part(tensors, "pixels") / 255.0)
        values = tf.reshape(found, [-1, CELLS * CELLS, self.units]) + tf.convert_to_tensor(self.places)
        return EncoderOutput(values, tf.ones(tf.shape(values)[:2], tf.bool), tf.reduce_mean(values, axis=1))

    def input_lengths(self, tensors):
        return tf.fill(tf.shape(self.part(tensors, "pixels"))[:1], CELLS * CELLS)

    def to_positions(self, weights, tensors):
        return tf.reshape(weights, tf.concat([tf.shape(weights)[:2], [CELLS, CELLS]], axis=0))

    @property
    def arguments(self):
        return {"units": self.units}


class Captioner(Seq2Seq):
    """A model that describes the contents of a picture."""

    name_in_registry = "toy_captioner"


@dataclasses.dataclass(frozen=True)
class CaptionTask(Task):
    def build(self, settings, train):
        target = Symbols.learn(train.targets, tokenizer="spaces", limit=4)
        parts = {
            "cell": Cell.get("gru", units=settings.units),
            "attention": Attention("additive", units=settings.units),
        }
        decoder = SymbolDecoder.get(
            "bahdanau", vocabulary=target.rules.size, jit_compile=False, readout=settings.units, **parts
        )
        network = EncoderDecoder(PatchEncoder(settings.units), decoder)
        return Captioner(
            network, {"image": Image(SIDE, SIDE)}, target, max_length_ratio=0, beam_width=2, alternatives=1
        )


def draw(colour, side, generator):
    """Return the bytes of a picture with a square on one side."""
    from PIL import Image as Pillow

    pixels = np.full([24, 32, 3], 230, np.uint8)
    left = generator.randrange(8) + (18 if side == "right" else 0)
    top = generator.randrange(16)
    pixels[top : top + 8, left : left + 6] = COLOURS[colour]
    data = io.BytesIO()
    Pillow.fromarray(pixels).save(data, "PNG")
    return data.getvalue()


def write_pictures(path, count=240):
    """Write a tar file of pictures whose names describe them."""
    generator = random.Random(0)
    with tarfile.open(path, "w") as tar:
        for number in range(count):
            colour, side = generator.choice(list(COLOURS)), generator.choice(["left", "right"])
            data = draw(colour, side, generator)
            member = tarfile.TarInfo(f"pictures/{number:04d}-{colour}-{side}.png")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


def load_pictures(data, settings):
    examples = [
        Example(name, {"image": stored}, " ".join(name.removesuffix(".png").split("-")[1:]))
        for name, stored in in_tar(data).items()
    ]
    return Splits(examples[:-80], examples[-80:-40], examples[-40:], "made up")


caption = Recipe(
    name="toy_caption",
    summary="picture -> what is where",
    load=load_pictures,
    task=CaptionTask(),
    settings=Settings(units=24, epochs=16, batch_size=20, learning_rate=1e-2, warmup_steps=5, label_smoothing=0.0),
    small=Settings(units=24, epochs=16, batch_size=20, learning_rate=1e-2, warmup_steps=5, label_smoothing=0.0),
)
