"""The page on custom data: its example must reach the accuracy on the page."""

import csv
import json
import re
import urllib.request

import pytest
from support import pages

from seqattn_tf import cli
from seqattn_tf.serving.server import Server, ServerConfig
from seqattn_tf.training import recipes
from seqattn_tf.training.metrics import Metric

LEAST = 0.97  # minimum share of correct answers to held-out commands


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """The commands of the page by name, in a folder with its table."""
    monkeypatch.chdir(tmp_path)
    exec(pages.python_of("data.md")[0], {})
    return {command[0]: command for command in pages.commands_of("data.md")[:-1]}


def test_the_table_holds_what_the_page_says(commands, tmp_path):
    with (tmp_path / "commands.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["command"]: row["actions"] for row in csv.DictReader(file)}
    assert len(rows) == 5000
    for command, actions in (
        line.split(",") for line in re.findall(r"^(\w[\w ]+,[A-Z_ ]+)$", pages.text_of("data.md"), re.M)
    ):
        assert rows.get(command, actions) == actions
    assert all(actions.split() for actions in rows.values())


def test_the_table_is_read_as_the_page_says(commands):
    options = cli._parser().parse_args(commands["train"])
    recipe = recipes.get(options.recipe)
    settings = recipe.settings.with_assignments(options.set)
    splits = recipe.load("commands.csv", settings)
    assert re.search(r"text = command, target = actions", splits.summary)
    assert splits.summary.partition(";")[0] in pages.text_of("data.md")
    assert len(splits.train) + len(splits.dev) + len(splits.test) == 5000


def test_the_metric_of_the_page_is_found_by_its_name(monkeypatch):
    monkeypatch.setattr(Metric, "made", dict(Metric.made))
    exec(pages.python_of("data.md")[2], {})
    metric = Metric.get("first")
    assert metric.measure({"a": "X Y", "b": "Z"}, {"a": ["X"], "b": ["Y", "Q"]}) == {metric.figure: 0.5}


def test_the_page_alone_leads_to_answers_from_server_and_device(commands, tmp_path, capsys):
    for name in ("train", "evaluate", "explain", "export", "query"):
        assert cli.main(commands[name]) == 0
    out = capsys.readouterr().out
    assert float(re.search(r"^accuracy +([\d.]+)", out, re.M)[1]) >= LEAST
    exec(pages.python_of("data.md")[1], {})
    assert capsys.readouterr().out.strip() == "JUMP JUMP TURN_LEFT WALK"
    body = json.dumps({"instances": ["jump twice and walk left"]}).encode()
    with (
        Server(ServerConfig(tmp_path / "models", rest_api_port=0, port=0)) as server,
        urllib.request.urlopen(f"{server.rest_url}/v1/models/commands:predict", body) as reply,
    ):
        assert json.load(reply)["predictions"][0]["text"] == "JUMP JUMP TURN_LEFT WALK"
