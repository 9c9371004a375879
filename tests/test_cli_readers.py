"""The command line with models that classify and tag: the sources of answers, and exports without LiteRT."""

import json
import re

import pytest
from support.readers import tagger
from support.step_by_step import untraced

from seqattn_tf import cli
from seqattn_tf.export import package
from seqattn_tf.export.package import Exported

ROWS = "".join(
    f"a {word} day number {i},{label}\n" for i in range(40) for word, label in (("good", "yes"), ("bad", "no"))
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classify")
    (folder / "days.csv").write_text("text,label\n" + ROWS)
    for name, pool in (("looking", "attention"), ("mean", "average")):
        chosen = [
            "units=4",
            "embedding=4",
            "epochs=1",
            "min_count=1",
            f"pool={pool}",
            "text_column=text",
            "target_column=label",
            "encoder=forward",
        ]
        settings = [part for one in chosen for part in ("--set", one)]
        data = ["--data", str(folder / "days.csv"), "--run", str(folder / name)]
        with untraced(True):  # only a few steps
            assert cli.main(["train", "classify", "--preset", "small", *data, *settings]) == 0
    return folder


def test_what_answers_come_from_is_printed_and_drawn(trained, capsys, tmp_path):
    output = tmp_path / "days.png"
    assert cli.main(["evaluate", str(trained / "looking"), "--faithfulness", "-o", str(output)]) == 0
    said = capsys.readouterr().out
    assert "\naccuracy  0." in said
    assert re.search(
        r"drop in the answer's probability \(0\.\d{4}\) by number of erased words, for each way of choosing them\n",
        said,
    )
    table = re.findall(r"^  (attention|gradient|random)((?: +-?\d\.\d{4}){3})$", said, re.M)  # 1, 2, 3 of five words
    assert [name for name, _ in table] == ["attention", "gradient", "random"]
    picture = tmp_path / "days-faithfulness.png"
    assert said.endswith(f"{picture}\n")
    assert picture.stat().st_size > 5000
    assert cli.main(["evaluate", str(trained / "looking"), "-o", str(output)]) == 2  # nothing to draw
    assert "output: expected a metric with groups to plot" in capsys.readouterr().err
    assert cli.main(["evaluate", str(trained / "looking")]) == 0
    assert "erased" not in capsys.readouterr().out


def test_a_model_without_attention_is_refused_before_it_is_measured(trained, capsys):
    assert cli.main(["evaluate", str(trained / "mean"), "--faithfulness"]) == 2
    out, error = capsys.readouterr()
    assert "accuracy" not in out
    assert error.endswith("expected a model with attention over a text (pool=attention). Received: none\n")


def test_the_forms_of_an_export(monkeypatch, tmp_path, capsys):
    asked = []

    def export(source, target, forms):
        asked.append([form.title for form in forms])
        return Exported(target / "1", 5, dict.fromkeys(asked[-1], 5))

    monkeypatch.setattr(package, "export", export)
    for more in ([], ["--no-lite"]):
        assert cli.main(["export", "tag", str(tmp_path), *more]) == 0
    assert asked == [["SavedModel", "LiteRT"], ["SavedModel"]]
    both, _, alone, _ = capsys.readouterr().out.splitlines()
    assert (both, alone) == (f"{tmp_path}/1  {tmp_path}/1/assets.extra/lite", f"{tmp_path}/1")


@pytest.mark.slow
def test_a_saved_model_alone(tmp_path, capsys):
    tagger().save(tmp_path / "run")
    assert cli.main(["export", str(tmp_path / "run"), str(tmp_path / "models/tags"), "--no-lite"]) == 0
    version = tmp_path / "models/tags/1"
    first, agreeing = capsys.readouterr().out.splitlines()
    assert first == str(version)
    assert re.fullmatch(r"agree with the Keras model on (\d+) rows: SavedModel \1", agreeing)
    assert not (version / "assets.extra/lite").exists()
    assert "LiteRT" not in json.loads((version / "assets.extra/manifest.json").read_text())["verified"]
