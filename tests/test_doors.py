"""The same unusual inputs in every interface: Python, LiteRT, REST, gRPC and the command line."""

import base64
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import closing

import numpy as np
import pytest
from support import strangers

from seqattn_tf import cli
from seqattn_tf.cli import asking, base, measuring
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.serving.client import connect
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.server import Server, ServerConfig


@pytest.fixture(scope="module")
def server(exported):
    with Server(ServerConfig(exported / "models", rest_api_port=0, port=0)) as running:
        yield running


@pytest.fixture(scope="module")
def doors(server, preset, exported):
    """All interfaces, as functions from a list of texts to a list of answered texts."""
    rest, grpc = connect(server.rest_url), connect(f"grpc://{server.grpc_address}")
    lite = LiteModel(exported / "models/pronounce/1/assets.extra/lite")
    return {
        "python": lambda texts: [answer.text for answer in preset.answer(texts)],
        "lite": lambda texts: [answer.text for answer in lite.answer(texts)],
        "rest": lambda texts: list(rest.predict("pronounce", {"text": texts})["text"]),
        "grpc": lambda texts: list(grpc.predict("pronounce", {"text": texts})["text"]),
    }


@pytest.fixture(params=["python", "lite", "rest", "grpc"])
def ask(request, doors):
    return doors[request.param]


def test_a_word_is_answered(ask):
    assert ask(["cat", "Dog"]) == ["K AE T", "D AO G"]


@pytest.mark.parametrize("text", ["", "  ", "2024", "日本語", "Привет", "\u0301", "😀"])
def test_nothing_readable_gets_the_empty_answer(ask, text):
    assert ask([text, "cat"]) == ["", "K AE T"]


def test_accents_case_and_digits_inside(ask):
    assert ask(["CÁT", "c4a2t"]) == ["K AE T", "K AE T"]


@pytest.mark.parametrize("length", [65, 10_000, 100_000])
def test_too_long_is_refused_with_the_limit_and_what_came(ask, length):
    with pytest.raises((ValueError, ServingError), match="expected at most 64 symbols") as caught:
        ask(["cat", "a" * length])
    assert str(length) in str(caught.value)
    assert getattr(caught.value, "code", "INVALID_ARGUMENT") == "INVALID_ARGUMENT"


def test_empty_batch(ask):
    assert ask([]) == []


def test_row_format_with_no_rows_is_refused_as_in_tf_serving(server):
    assert post(server, {"instances": []})[0] == 400


def test_invalid_utf8(preset, doors, server):
    raw = b"c\xffat"
    assert preset.answer([raw])[0].text == "K AE T"
    assert doors["lite"]([raw]) == ["K AE T"]
    assert doors["grpc"](np.array([raw], object)) == ["K AE T"]
    body = {"instances": [{"b64": base64.b64encode(raw).decode()}]}
    status, reply = post(server, body)
    assert status == 200
    assert reply["predictions"][0]["text"] == "K AE T"


def post(server, body):
    request = urllib.request.Request(f"{server.rest_url}/v1/models/pronounce:predict", json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_row_format_gives_every_output(server):
    status, reply = post(server, {"instances": ["cat", "zoo"]})
    assert status == 200
    [cat, _] = reply["predictions"]
    assert cat["text"] == "K AE T"
    assert cat["tokens"] == cat["text_queries"] == ["K", "AE", "T"]
    assert cat["text_keys"] == ["c", "a", "t"]
    assert np.shape(cat["text_attention"]) == (3, 3)
    assert cat["alternatives"] == []


@pytest.fixture
def opened(preset, monkeypatch):
    """Open the shipped model only once for all commands."""
    opening = base.open_quietly

    def cached(name, engine):
        return preset if name == "pronounce" else opening(name, engine)

    for module in (asking, measuring):
        monkeypatch.setattr(module, "open_quietly", cached)


@pytest.mark.parametrize(
    ("arguments", "status", "printed"),
    [
        (["query", "pronounce", "cat", "", "日本語"], 0, "cat\tK AE T\t"),
        (["query", "pronounce", "c\udcffat"], 0, "c?at\tK AE T\t"),  # invalid UTF-8 from a shell
        (["query", "pronounce", "text=cat", "text=Dog"], 0, "cat\tK AE T\t"),
        (["query", "pronounce", "@@", "two=too"], 0, "@\t\t-inf\ntwo=too\t"),
        (
            ["query", "pronounce", "@nothing.txt"],
            2,
            "expected a readable file. Received: '@nothing.txt', No",
        ),
        (["query", "pronounce", "text=@"], 2, "expected a readable file. Received: '@', Is a directory"),
        (["explain", "pronounce", "cat", "dog"], 2, "values: expected the inputs of a single row. Received: 2"),
        (["evaluate", "pronounce"], 2, "data: expected cmudict-0.7b.train.xz"),
        (["query", "pronounce", "a" * 10_000], 2, "expected at most 64 symbols. Received: 10000"),
        (
            ["query", "nobody", "cat"],
            2,
            "expected one of the presets ['answer_scene', 'caption_scene', 'image_to_latex', 'parse', "
            "'pronounce', 'tag', 'transcribe', 'transliterate'] or the folder",
        ),
        (["query", "pronounce", "cat", "--url", "ftp://x"], 2, "ftp://x"),
        (["query", "pronounce", "cat", "--url", "http://127.0.0.1:9"], 1, "127.0.0.1:9"),
        (["train", "nothing"], 2, "recipe: expected one of ['answer', 'answer_image'"),
        (["train", "pronounce", "--set", "units=no"], 2, "units: expected int"),
        (["export", "nobody", "models/x"], 2, "expected one of the presets"),
        (["explain", "pronounce", "cat", "-o", "cat.gif"], 2, ".gif"),
        (["serve", "nowhere"], 2, "nowhere"),
    ],
)
def test_command_line(arguments, status, printed, opened, capsys):
    assert cli.main(arguments) == status
    captured = capsys.readouterr()
    assert printed in captured.out + captured.err
    assert "Traceback" not in captured.err


def test_command_line_asks_a_server(server, capsys):
    for url in (server.rest_url, f"grpc://{server.grpc_address}"):
        assert cli.main(["query", "pronounce", "cat", "--url", url, "--json"]) == 0
        reply = json.loads(capsys.readouterr().out)
        assert reply["text"] == "K AE T"
        assert np.shape(reply["attention"]["text"]["weights"]) == (3, 3)
        assert cli.main(["query", "pronounce", "a" * 65, "--url", url]) == 1
        assert "expected at most 64 symbols" in capsys.readouterr().err


def test_command_line_reads_files(opened, tmp_path, capsys):
    (tmp_path / "word.txt").write_text("cat\n")
    (tmp_path / "word.bin").write_bytes(b"c\xffat")
    files = [str(tmp_path / name) for name in ("word.txt", "word.bin")]
    assert cli.main(["query", "pronounce", f"@{files[0]}", f"text=@{files[1]}"]) == 0
    printed = [line.split("\t")[:2] for line in capsys.readouterr().out.splitlines()]
    assert printed == [["cat", "K AE T"], ["(4 bytes)", "K AE T"]]


def test_command_line_says_everything_as_json(opened, capsys):
    assert cli.main(["query", "pronounce", "text=cat", "日本語", "--json"]) == 0
    cat, nothing = map(json.loads, capsys.readouterr().out.splitlines())
    assert cat["tokens"] == cat["attention"]["text"]["queries"] == ["K", "AE", "T"]
    assert cat["attention"]["text"]["keys"] == ["c", "a", "t"]
    assert np.shape(cat["attention"]["text"]["weights"]) == (3, 3)
    assert (nothing["text"], nothing["score"], nothing["tokens"]) == ("", None, [])


@pytest.fixture
def three_inputs(tmp_path):
    """The folder of an untrained model with three inputs: two words and a day."""
    train = strangers.match.load(None, None).at_most(0).train
    strangers.match.task.build(strangers.match.settings, train).save(tmp_path / "match")
    return str(tmp_path / "match")


def test_command_line_asks_by_the_names_of_several_inputs(three_inputs, tmp_path, capsys):
    (tmp_path / "word.txt").write_text("ab\n")
    first, when = f"first=@{tmp_path / 'word.txt'}", "when=2024-02-29"
    asked = ["first=a", "second=b", when, when, "second=c=d", first]
    assert cli.main(["query", three_inputs, *asked]) == 0
    printed = [line.split("\t")[:3] for line in capsys.readouterr().out.splitlines()]
    assert printed == [["a", "b", "2024-02-29"], ["ab", "c=d", "2024-02-29"]]
    picture = tmp_path / "match.png"
    assert cli.main(["explain", three_inputs, first, when, "second=a", "-o", str(picture)]) == 0
    assert picture.is_file()
    for wrong, message in (
        (["a"], "values: expected first=..., second=..., when=.... Received: 'a'"),
        (["first=a", "other=b"], "values: expected first=..., second=..., when=.... Received: 'other=b'"),
        (["first=a", "second=b"], "values: expected first, second, when for each row. Received: a row without when"),
        (["first=a", "second=b", "when=now"], "when: expected YYYY-MM-DD. Received: 'now'"),
    ):
        for command in ("query", "explain"):
            assert cli.main([command, three_inputs, *wrong]) == 2
            assert message in capsys.readouterr().err


@pytest.mark.slow
def test_command_line_draws_and_exports(tmp_path, capsys):
    assert cli.main(["explain", "pronounce", "cat", "-o", str(tmp_path / "cat.svg")]) == 0
    assert (tmp_path / "cat.svg").read_text().startswith("<?xml")
    assert cli.main(["export", "pronounce", str(tmp_path / "models/p")]) == 0
    said = re.search(r"on (\d+) rows: SavedModel (\d+), LiteRT (\d+)", capsys.readouterr().out)
    assert int(said[1]) == int(said[2]) >= 100
    assert (tmp_path / "models/p/1/saved_model.pb").is_file()
    assert (tmp_path / "models/p/1/assets.extra/lite/model.tflite").is_file()


@pytest.mark.slow  # an export
def test_serve_exports_the_presets_answers_and_drains(tmp_path):
    """`seqattn serve --engine tensorflow` right after installation: a real process, a real socket, SIGTERM."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "seqattn_tf.cli", "serve", "--engine", "tensorflow"]
    command += ["--rest_api_port", "0", "--port", "0", "pronounce"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            lines = []
            while not lines or not lines[-1].startswith("model "):
                lines.append(process.stdout.readline())
                assert lines[-1], "the server ended early"
            addresses = [line.split()[1] for line in lines if line.startswith(("REST", "gRPC"))]
            assert len(addresses) == 2
            for address in addresses:
                with closing(connect(address)) as client:
                    assert client.predict("pronounce", {"text": ["cat"]})["text"].tolist() == ["K AE T"]
        finally:
            process.terminate()
        assert process.wait(timeout=60) == 0
        assert "draining" in process.stdout.read()
