"""The page on plug-ins: a recipe with a custom alignment in an external file, from training to serving."""

import contextlib
import csv
import io
import json
import re
import subprocess
import sys
from contextlib import closing

import pytest
from support import pages

from seqattn_tf import cli, plugins
from seqattn_tf.attention import Alignment
from seqattn_tf.checks.attention import AlignmentChecks, ScoreChecks
from seqattn_tf.checks.cell import CellChecks
from seqattn_tf.checks.decoder import DecoderChecks
from seqattn_tf.checks.encoder import EncoderChecks
from seqattn_tf.checks.field import FieldChecks
from seqattn_tf.checks.recipe import RecipeChecks
from seqattn_tf.checks.target import TargetChecks
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.serving.client import connect
from seqattn_tf.serving.server import Server, ServerConfig
from seqattn_tf.training.recipes import Recipe

FEW = 300  # rows of the table


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The commands of the page by name, and the folder with its file and a table for training."""
    folder = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(plugins, "_files", {})
        patch.setattr(sys, "path", list(sys.path))
        exec(pages.python_of("data.md")[0], {})
        (folder / "sharp.py").write_text(pages.python_of("plugins.md")[0], encoding="utf-8")
        lines = (folder / "commands.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / "commands.csv").write_text("".join(lines[: FEW + 1]), encoding="utf-8")
        yield {command[0]: command for command in pages.commands_of("plugins.md")}, folder
    sys.modules.pop("sharp", None)
    Alignment.registry.pop("sharp", None)
    Recipe.made.pop("sharp", None)


@pytest.fixture(scope="module")
def trained(shown):
    commands, folder = shown
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert cli.main([*commands["train"], "--set", "max_length_ratio=5"]) == 0
    # It names the next command.
    assert said.getvalue().endswith("; evaluate it: " + " ".join(["seqattn", *commands["evaluate"]]) + "\n")
    return folder / "runs/sharp"


def ask(capsys, command):
    assert cli.main(command) == 0
    return capsys.readouterr().out


def test_the_run_is_measured_where_its_data_are(shown, trained, capsys):
    out = ask(capsys, shown[0]["evaluate"])
    assert "\naccuracy  0." in out
    record = json.loads((trained / "config.json").read_text())
    assert record["plugins"] == record["record"]["plugins"] == {"sharp": "sharp.py"}
    assert record["record"]["given"] == str(shown[1] / "commands.csv")


def test_what_it_looked_at_is_drawn(shown, trained, capsys):
    assert ask(capsys, shown[0]["explain"]).strip() == "sharp.png"
    assert (shown[1] / "sharp.png").read_bytes().startswith(b"\x89PNG")


def test_the_checks_that_are_shown_pass(trained):
    names = {}
    exec(pages.python_of("plugins.md")[1], names)
    names["test_the_alignment"]()
    names["test_the_recipe"]()


def test_every_check_is_in_the_table():
    table = pages.text_of("plugins.md").split("## Check your part")[1]
    listed = set(re.findall(r"\w+", " ".join(re.findall(r"`([\w, ]+)`", table))))
    families = [CellChecks, ScoreChecks, AlignmentChecks, DecoderChecks, EncoderChecks, FieldChecks, TargetChecks]
    assert {name for family in (*families, RecipeChecks) for name in family.all_names()} <= listed


def test_without_the_plug_in_it_says_what_to_import(trained):
    done = subprocess.run(
        [sys.executable, "-m", "seqattn_tf.cli", "query", str(trained), "jump"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("seqattn query: ")
    assert "Received: Could not locate class 'SharpAlignment'; " in done.stderr
    assert done.stderr.endswith("it needs sharp: import that first, or use --plugin sharp.py\n")


def test_server_and_device_answer_as_the_run_does(shown, trained, capsys):
    commands, folder = shown
    said = ask(capsys, commands["query"]).split("\t")[1]
    ask(capsys, commands["export"])
    assert LiteModel(folder / "models/sharp/1/assets.extra/lite").answer(["jump twice"])[0].text == said
    with Server(ServerConfig(folder / "models", rest_api_port=0, port=0)) as server:
        for url in (server.rest_url, f"grpc://{server.grpc_address}"):
            with closing(connect(url)) as client:
                assert client.answer("sharp", ["jump twice"])[0].text == said
        assert ask(capsys, ["query", "sharp", "jump twice", "--url", server.rest_url]).split("\t")[1] == said


def test_the_alignment_alone_is_a_setting_of_another_recipe(shown, trained, capsys):
    columns = [
        "text_column=command",
        "target_column=actions",
        "align=sharp",
        "units=8",
        "embedding=8",
        "epochs=1",
        "max_length_ratio=0",
    ]
    sets = [part for one in columns for part in ("--set", one)]
    train = ["train", "translate", "--plugin", "sharp.py", "--data", "commands.csv", "--run", "runs/other", "--preset"]
    out = ask(capsys, [*train, "small", *sets])
    assert "text = command, target = actions; 2" in out
    assert json.loads((shown[1] / "runs/other/config.json").read_text())["plugins"] == {"sharp": "sharp.py"}


def test_the_table_of_the_page_is_read_whole(shown):
    with (shown[1] / "commands.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == FEW
    assert all(row["command"] and row["actions"] for row in rows)
