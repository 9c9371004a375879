"""What the README shows, happens."""

import re
import shlex
from pathlib import Path

import numpy as np
import tensorflow as tf

from seqattn_tf import cli

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")


def test_python_examples_run(exported, tmp_path, monkeypatch):
    (tmp_path / "lite").symlink_to(exported / "lite")
    monkeypatch.chdir(tmp_path)
    names = {"embedded": tf.ones([2, 5, 8]), "mask": tf.constant([[True] * 5, [True] * 3 + [False] * 2])}
    names["query"] = tf.ones([2, 16])
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(blocks) == 5
    for block in blocks:
        exec(block, names)
    assert names["answer"].text == "HH EH L OW"
    assert names["answer"].attention.shape == (4, 5)
    assert names["weights"].shape == (2, 5)
    assert (tmp_path / "hello.png").is_file()
    np.testing.assert_array_equal(names["again"], names["tags"])
    assert np.mean(names["tags"] == names["labels"][400:]) > 0.95
    assert names["soft"].shape == (8, 12, 13)


def test_the_query_shown_gives_the_answers_shown(capsys):
    shown = re.search(r"^\$ seqattn (query pronounce .*)\n((?:.+\n)+?)\$", README, re.M)
    assert cli.main(shlex.split(shown[1])) == 0
    for promised, printed in zip(shown[2].splitlines(), capsys.readouterr().out.splitlines(), strict=True):
        word, *phonemes, score = promised.split()
        text, said, given = printed.split("\t")
        assert (text, said) == (word, " ".join(phonemes))
        assert abs(float(score) - float(given)) < 0.01


def test_every_command_shown_exists():
    parser = cli._parser()
    commands = set(re.findall(r"^\$? ?seqattn (\w+)", README, re.M))
    assert {"query", "explain", "serve", "train", "evaluate", "export"} <= commands
    for line in re.findall(r"^\$? ?seqattn (.+?)(?:\s{2,}#.*)?$", README, re.M):
        parser.parse_args(shlex.split(line.split("#")[0]))
