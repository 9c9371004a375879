"""The README: its examples work as shown."""

import re
import shlex
from pathlib import Path

import numpy as np
import tensorflow as tf

from seqattn_tf import cli

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def test_python_examples_run(exported, tmp_path, monkeypatch):
    (tmp_path / "models").symlink_to(exported / "models")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    query, layers, lite = ({} for _ in blocks)
    for block, names in zip(blocks, (query, layers, lite), strict=True):  # each block runs separately, as printed
        exec(block, names)
    assert query["answer"].text == "HH AH L OW"
    assert query["attention"].queries == ("HH", "AH", "L", "OW")
    assert query["attention"].keys == ("h", "e", "l", "l", "o")
    assert query["attention"].weights.shape == (4, 5)
    assert lite["model"].answer(["hello"])[0].text == "HH AH L OW"
    model, ids, labels = layers["model"], layers["ids"], layers["labels"]
    assert model.evaluate(ids[1600:], labels[1600:], verbose=0)[1] > 0.95
    expected = {name: value.numpy() for name, value in layers["both"](ids[:1]).items()}
    served = tf.saved_model.load("rare_words/1").signatures["serving_default"](tf.constant(ids[:1], tf.int32))
    runner = tf.lite.Interpreter("rare_words.tflite").get_signature_runner()
    [name] = runner.get_input_details()
    for found in (served, runner(**{name: ids[:1].astype(np.int32)})):
        values = {value.shape[-1]: np.asarray(value) for value in found.values()}  # LiteRT numbers its outputs
        np.testing.assert_allclose(values[12], expected["attention"], atol=1e-5)
        np.testing.assert_allclose(values[1], expected["score"], atol=1e-5)


def test_the_query_shown_gives_the_answers_shown(capsys):
    shown = re.search(r"^\$ seqattn (query pronounce .*)\n((?:.+\n)+?)\$", README, re.M)
    assert cli.main(shlex.split(shown[1])) == 0
    for promised, printed in zip(shown[2].splitlines(), capsys.readouterr().out.splitlines(), strict=True):
        word, *phonemes, score = promised.split()
        text, said, given = printed.split("\t")
        assert (text, said) == (word, " ".join(phonemes))
        assert abs(float(score) - float(given)) < 0.01
