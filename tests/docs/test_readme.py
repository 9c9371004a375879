"""What the README shows, happens."""

import re
import shlex
from pathlib import Path

import numpy as np

from seqattn_tf import cli

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def test_python_examples_run(exported, tmp_path, monkeypatch):
    (tmp_path / "models").symlink_to(exported / "models")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    ask, lite, layers, tagger, structured = ({} for _ in blocks)
    for block, names in zip(blocks, (ask, lite, layers, tagger, structured), strict=True):  # each as it stands
        exec(block, names)
    assert ask["answer"].text == "HH AH L OW"
    assert ask["look"].rows == ("HH", "AH", "L", "OW")
    assert ask["look"].places == ("h", "e", "l", "l", "o")
    assert ask["look"].weights.shape == (4, 5)
    assert lite["model"].answer(["hello"])[0].text == "HH AH L OW"
    assert (tmp_path / "hello.png").is_file()
    assert layers["logits"].shape == (2, 2)
    assert (layers["weights"][0, 3:].numpy() == 0).all()
    assert (layers["weights"][1].numpy() > 0).all()
    np.testing.assert_array_equal(tagger["again"], tagger["tags"])
    assert np.mean(tagger["tags"] == tagger["labels"][400:]) > 0.95
    assert structured["soft"].shape == (8, 12, 13)


def test_the_query_shown_gives_the_answers_shown(capsys):
    shown = re.search(r"^\$ seqattn (query pronounce .*)\n((?:.+\n)+?)\$", README, re.M)
    assert cli.main(shlex.split(shown[1])) == 0
    for promised, printed in zip(shown[2].splitlines(), capsys.readouterr().out.splitlines(), strict=True):
        word, *phonemes, score = promised.split()
        text, said, given = printed.split("\t")
        assert (text, said) == (word, " ".join(phonemes))
        assert abs(float(score) - float(given)) < 0.01
