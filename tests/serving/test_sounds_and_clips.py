"""Sounds and clips of all kinds behind every door: answers or clear errors, in bounded memory."""

import base64
import io
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import pytest
from PIL import Image as Pillow
from serving_toys import config, post
from support.sounds import wav

from seqattn_tf.encoder import ClipEncoder, PyramidEncoder
from seqattn_tf.export import package
from seqattn_tf.export.lite_runtime import LiteModel
from seqattn_tf.export.verify import difference
from seqattn_tf.fields import Clip, Sound
from seqattn_tf.models import EncoderDecoder, Seq2Seq
from seqattn_tf.serving.client import connect
from seqattn_tf.serving.server import Server
from seqattn_tf.targets import Symbols
from seqattn_tf.text import SymbolRules
from seqattn_tf.training.data import clips
from seqattn_tf.vision import ConvolutionalBackbone

DIGITS = SymbolRules(tuple("0123456789"), split="spaces")
CLIP = clips.draw(3)


def gif(count, size=(4, 4)):
    data = io.BytesIO()
    frames = [Pillow.fromarray(np.full(size, 40 + number % 200, np.uint8)) for number in range(count)]
    frames[0].save(data, "GIF", save_all=True, append_images=frames[1:])
    return data.getvalue()


class Sense(NamedTuple):
    """One kind of input: a model, what it answers, and what it refuses in which words."""

    make: object
    field: object
    fine: dict
    bad: dict


def model_of(encoder, name, field):
    keras.utils.set_random_seed(1)
    network = EncoderDecoder.of_encoder(encoder, DIGITS.size, units=6, embedding=4)
    return Seq2Seq(network, {name: field}, Symbols(DIGITS, 4), max_length_ratio=0)


WAVE, FRAMES = "expected a WAV sound", "expected an animated GIF, or a strip of frames"
SENSES = {
    "sound": Sense(
        lambda: PyramidEncoder(12, units=4, depth=2),
        Sound(bands=12, per_place=2, seconds=20),
        {
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
            "no bytes": (b"", WAVE),
            "truncated": (wav()[:2000], WAVE),
            "a picture in name": (CLIP.read(), WAVE),
            "mp3": (b"ID3\x04" + bytes(500), WAVE),
            "compressed": (wav(tag=2), WAVE),
            "not a number": (wav("<f4", loud=np.nan), "expected samples that are numbers"),
            "ten minutes": (wav("u1", samples=8_000 * 600), "expected a sound of at most 20 seconds"),
        },
    ),
    "clip": Sense(
        lambda: ClipEncoder(ConvolutionalBackbone((4, 6)), 16, 16, units=4, local=3),
        Clip(16, 16, limit=20),
        {"gif": CLIP.gif(), "strip": CLIP.read(), "one frame": gif(1), "small": gif(3, (1, 1))},
        {
            "no bytes": (b"", FRAMES),
            "no frame": (gif(1)[:13] + b";", FRAMES),
            "truncated": (CLIP.gif()[:3000], FRAMES),
            "a sound in name": (wav(), FRAMES),
            "10 000 frames": (gif(10_000, (1, 1)), "expected a clip of at most 20 frames"),
            "large": (gif(18, (1000, 1000)), "expected a clip of at most 16777216 pixels"),
        },
    ),
}


@pytest.fixture(scope="module")
def models():
    return {name: model_of(sense.make(), name, sense.field) for name, sense in SENSES.items()}


@pytest.fixture(scope="module")
def folder(models, tmp_path_factory):
    found = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(package, "MADE_UP", 3)  # beside odd ones
        for name, model in models.items():
            done = package.export_model(model, found / name, {})
            assert set(done.agreeing.values()) == {done.rows}  # both forms, every row, from raw bytes
    return found


@pytest.fixture(scope="module")
def url(folder):
    with Server(config(folder)) as server:
        yield server


def ask(url, name, *values):
    rows = [{name: {"b64": base64.b64encode(value).decode()}} for value in values]
    return post(url.rest_url, {"instances": rows}, f"/v1/models/{name}:predict")


@pytest.mark.parametrize("name", SENSES)
def test_every_door_says_the_same(url, folder, models, name):
    fine = SENSES[name].fine
    right = models[name].answer(list(fine.values()))
    edge = LiteModel(folder / name / "1/assets.extra/lite").answer(list(fine.values()))
    with closing(connect(url.rest_url)) as rest, closing(connect(f"grpc://{url.grpc_address}")) as grpc:
        found = [edge, *(client.answer(name, list(fine.values())) for client in (rest, grpc))]
    for way in found:
        for kind, one, other in zip(fine, right, way, strict=True):
            assert difference(one, other, 2e-2) == "", kind


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, sense in SENSES.items() for kind in sense.bad])
def test_what_is_bad_is_refused_at_every_door_and_the_next_is_answered(url, folder, models, name, kind):
    value, message = SENSES[name].bad[kind]
    for door in (models[name], LiteModel(folder / name / "1/assets.extra/lite")):
        with pytest.raises(ValueError, match=f"{name}: {message}"):
            door.answer([value])
    status, reply = ask(url, name, value)
    assert (status, message in reply["error"]) == (400, True), reply
    assert len(reply["error"]) < 1000
    good = next(iter(SENSES[name].fine.values()))
    assert ask(url, name, good)[0] == 200
    assert ask(url, name, good, value)[0] == 400  # one of a batch is enough


@pytest.mark.parametrize(("name", "kind", "decoded"), [("sound", "ten minutes", 77), ("clip", "large", 270)])
def test_what_is_too_large_takes_no_memory(url, name, kind, decoded):
    """Of the server, which lives in this process: its peak over what it held before is printed, and small."""
    peak = Path("/proc/self/status")
    if not peak.is_file():
        pytest.skip("needs /proc")

    def kilobytes(what):
        return next(int(line.split()[1]) for line in peak.read_text().splitlines() if line.startswith(what))

    value, _ = SENSES[name].bad[kind]
    ask(url, name, value)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = kilobytes("VmHWM")
    assert ask(url, name, value)[0] == 400
    grown = (kilobytes("VmHWM") - before) / 1000
    print(f"{kind}: {grown:.1f} MB more at the peak for {len(value) / 1e6:.1f} MB; decoded it would have {decoded}")
    assert grown < 60
