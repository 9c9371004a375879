"""docs/scale.md: its commands are valid, and its Python code runs and prints what is on the page."""

import json
import re
import types

from support.pages import commands_of, python_of, text_of

from seqattn_tf import cli
from seqattn_tf.training.distribution import Cluster


def test_the_strategies_of_the_commands():
    mirrored, several, _ = (cli._parser().parse_args(command) for command in commands_of("scale.md"))
    assert mirrored.strategy == "mirrored"
    assert Cluster.of(several.workers, several.worker_index) == Cluster(("left:5000", "right:5000"), 0)


def test_the_environment_of_the_page_is_understood():
    [block] = re.findall(r"```json\n(.*?)```", text_of("scale.md"), re.S)
    assert Cluster.of_environment(json.dumps(json.loads(block))) == Cluster(("left:5000", "right:5000"), 0)


def test_computed_times_are_those_of_the_page(capsys):
    exec(python_of("scale.md")[1], {})
    [shown] = re.findall(r"```text\n(.*?)```", text_of("scale.md"), re.S)
    assert capsys.readouterr().out == shown


def test_actors_start_one_command_each(monkeypatch):
    """Ray is replaced by functions that run the commands here."""
    scope, started = {}, []
    exec(python_of("scale.md")[0], scope)
    monkeypatch.setattr(
        scope["subprocess"], "run", lambda command: started.append(command) or types.SimpleNamespace(returncode=0)
    )

    def remote(**_):
        def of(kind):
            def actor():
                one = kind()
                methods = {name: types.SimpleNamespace(remote=getattr(one, name)) for name in ("address", "train")}
                return types.SimpleNamespace(**methods)

            return types.SimpleNamespace(remote=actor)

        return of

    ray = types.SimpleNamespace(remote=remote, get=lambda values: values)
    assert scope["train"](ray, 2, ["translate"]) == [0, 0]
    options = [cli._parser().parse_args(command[1:]) for command in started]
    assert [option.worker_index for option in options] == [0, 1]
    assert len(Cluster.of(options[1].workers, 1).addresses) == 2
