"""docs/map.md: its Python runs, and its commands exist."""

from support.pages import commands_of, python_of

from seqattn_tf import cli
from seqattn_tf.serving.mapping.outputs import FORMATS
from seqattn_tf.serving.mapping.readers import READERS


def test_the_python_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [block] = python_of("map.md")
    scope = {}
    exec(block, scope)
    assert scope["done"][:2] == (2, 0)
    lines = (tmp_path / "spoken.csv").read_text().splitlines()
    assert lines[0] == "text,answer,score"
    assert [line.split(",")[:2] for line in lines[1:]] == [["hello", "HH AH L OW"], ["attention", "AH T EH N SH AH N"]]


def test_every_command_of_the_page_exists():
    commands = commands_of("map.md")
    assert len(commands) == 5
    for command in commands:
        options = cli._parser().parse_args(_without_comment(command))
        assert options.command == "map"


def _without_comment(command):
    return command[: command.index("#")] if "#" in command else command


def test_what_comes_in_can_go_out():
    assert READERS.keys() == FORMATS.keys()
