"""Sounds and clips of all kinds in every interface: answers or clear errors, in bounded memory."""

import base64
import functools
import io
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import pytest
from PIL import Image as Pillow
from serving_toys import config, post
from support.once import once
from support.readers import LABELS, clear
from support.sounds import wav

from seqattn_tf.encoders import ClipEncoder, PyramidEncoder
from seqattn_tf.export import package
from seqattn_tf.export.comparison import difference
from seqattn_tf.export.forms import Form, SavedModel
from seqattn_tf.lite.fields import Clip, Sound
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.lite.targets import Label, Symbols
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import Classifier, ClassifierNetwork, EncoderDecoder, Seq2Seq
from seqattn_tf.serving.client import connect
from seqattn_tf.serving.server import Server
from seqattn_tf.training.data.corpora import clips
from seqattn_tf.vision import ConvolutionalBackbone

DIGITS = SymbolRules(tuple("0123456789"), tokenizer="spaces")
CLIP = clips.draw(3)


def gif(count, size=(4, 4)):
    """Return a GIF with copies of one frame."""
    data = io.BytesIO()
    Pillow.fromarray(np.full(size, 40, np.uint8)).save(data, "GIF")
    whole = data.getvalue()
    head = 13 + 3 * 2 ** (whole[10] % 8 + 1)  # includes the palette
    return whole[:head] + whole[head:-1] * count + whole[-1:]


class Sense(NamedTuple):
    """One kind of input: its encoder, its field, valid inputs, and invalid inputs with their messages."""

    make: object
    field: object
    fine: object
    bad: dict


@functools.cache
def fine(name):
    return SENSES[name].fine()


@functools.cache
def bad(name, kind):
    make, message = SENSES[name].bad[kind]
    return make(), message


def model_of(name):
    """Return a classifier; a model with symbols as output would take three times as long to export."""
    keras.utils.set_random_seed(1)
    network = clear(ClassifierNetwork(SENSES[name].make(), 3, pool="attention"))
    return Classifier(network, {name: SENSES[name].field}, Label(LABELS))


def speaker_of(name):
    keras.utils.set_random_seed(1)
    network = EncoderDecoder.of_encoder(SENSES[name].make(), DIGITS.size, units=6, embedding=4)
    return Seq2Seq(network, {name: SENSES[name].field}, Symbols(DIGITS, 4), max_length_ratio=0)


WAVE, FRAMES = "expected a WAV sound", "expected an animated GIF, or a strip of frames"
SENSES = {
    "sound": Sense(
        lambda: PyramidEncoder(12, units=4, depth=2),
        Sound(n_mels=12, frames_per_position=2, max_seconds=20),
        lambda: {
            "mono": wav(),
            "silent": wav(loud=0),
            "empty": wav(samples=0),
            "stereo": wav(channels=2),
            "48 kHz": wav(rate=48_000, samples=20_000),
            "24-bit": wav("i3"),
            "floating": wav("<f4"),
            "streamed": wav(size=0xFFFFFFFF),
        },
        {
            "no bytes": (lambda: b"", WAVE),
            "truncated": (lambda: wav()[:2000], WAVE),
            "a picture in name": (CLIP.read, WAVE),
            "mp3": (lambda: b"ID3\x04" + bytes(500), WAVE),
            "compressed": (lambda: wav(tag=2), WAVE),
            "not a number": (lambda: wav("<f4", loud=np.nan), "expected finite samples"),
            "ten minutes": (lambda: wav("u1", samples=8_000 * 600), "expected a sound of at most 20 seconds"),
        },
    ),
    "clip": Sense(
        lambda: ClipEncoder(ConvolutionalBackbone((4, 6)), 16, 16, units=4, local=3),
        Clip(16, 16, limit=20),
        lambda: {"gif": CLIP.gif(), "strip": CLIP.read(), "one frame": gif(1), "small": gif(3, (1, 1))},
        {
            "no bytes": (lambda: b"", FRAMES),
            "no frame": (lambda: gif(1)[:13] + b";", FRAMES),
            "truncated": (lambda: CLIP.gif()[:3000], FRAMES),
            "a sound in name": (wav, FRAMES),
            "10 000 frames": (lambda: gif(10_000, (1, 1)), "expected a clip of at most 20 frames"),
            "large": (lambda: gif(18, (1000, 1000)), "expected a clip of at most 16777216 pixels"),
        },
    ),
}


@pytest.fixture(scope="module")
def models():
    return {name: model_of(name) for name in SENSES}


@pytest.fixture(scope="module")
def folder(models, tmp_path_factory):
    def make(folder):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(package, "MADE_UP", 3)
            patch.setattr(Form, "compare", agrees)  # the tests below compare every interface on these rows and on more
            patch.setattr(SavedModel, "compare", agrees)
            for name, model in models.items():
                package.export_model(model, folder / name, {})

    return once(tmp_path_factory, "senses", make)


def agrees(form, model, folder, rows):
    return np.ones(len(rows), bool), ""


@pytest.fixture(scope="module")
def edges(folder):
    return {name: LiteModel(folder / name / "1/assets.extra/lite") for name in SENSES}


@pytest.fixture(scope="module")
def url(folder):
    with Server(config(folder)) as server:
        yield server


def ask(url, name, *values):
    rows = [{name: {"b64": base64.b64encode(value).decode()}} for value in values]
    return post(url.rest_url, {"instances": rows}, f"/v1/models/{name}:predict")


@pytest.mark.parametrize("name", SENSES)
def test_every_door_says_the_same(url, edges, models, name):
    field = models[name].inputs[name]
    values = [*fine(name).values(), *field.sample_inputs(3), *field.edge_cases()]
    right = models[name].answer(values)
    with closing(connect(url.rest_url)) as rest, closing(connect(f"grpc://{url.grpc_address}")) as grpc:
        found = [edges[name].answer(values), *(client.answer(name, values) for client in (rest, grpc))]
    for way in found:
        for number, (one, other) in enumerate(zip(right, way, strict=True)):
            assert difference(one, other, 2e-2) == "", [*fine(name), "made up or odd"][min(number, len(fine(name)))]


@pytest.mark.slow
@pytest.mark.parametrize("name", SENSES)
def test_what_is_said_of_them_in_symbols_is_exported(tmp_path, monkeypatch, name):
    monkeypatch.setattr(package, "MADE_UP", 3)  # in addition to unusual ones
    done = package.export_model(speaker_of(name), tmp_path / name, {})
    assert set(done.agreeing.values()) == {done.rows}  # both forms agree on every row, from raw bytes


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, sense in SENSES.items() for kind in sense.bad])
def test_what_is_bad_is_refused_at_every_door_and_the_next_is_answered(url, edges, models, name, kind):
    value, message = bad(name, kind)
    for door in (models[name], edges[name]):
        with pytest.raises(ValueError, match=f"{name}: {message}"):
            door.answer([value])
    status, reply = ask(url, name, value)
    assert (status, message in reply["error"]) == (400, True), reply
    assert len(reply["error"]) < 1000
    good = next(iter(fine(name).values()))
    assert ask(url, name, good)[0] == 200
    assert ask(url, name, good, value)[0] == 400  # a single one in a batch is enough


@pytest.mark.parametrize(("name", "kind", "decoded"), [("sound", "ten minutes", 77), ("clip", "large", 270)])
def test_what_is_too_large_takes_no_memory(url, name, kind, decoded):
    """Measures the server, which runs in this process: its peak memory is printed relative to the start."""
    peak = Path("/proc/self/status")
    if not peak.is_file():
        pytest.skip("needs /proc")

    def kilobytes(what):
        return next(int(line.split()[1]) for line in peak.read_text().splitlines() if line.startswith(what))

    value, _ = bad(name, kind)
    ask(url, name, value)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = kilobytes("VmHWM")
    assert ask(url, name, value)[0] == 400
    grown = (kilobytes("VmHWM") - before) / 1000
    print(f"{kind}: {grown:.1f} MB more at the peak for {len(value) / 1e6:.1f} MB; decoded it would have {decoded}")
    assert grown < 60
