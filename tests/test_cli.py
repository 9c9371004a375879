"""The command line: listings, help, warnings, settings of runs, and interruption."""

import contextlib
import dataclasses
import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
import warnings

import pytest
from support import forked
from support.slow import slow
from support.step_by_step import step_by_step, untraced  # noqa: F401

from seqattn_tf import __version__, cli
from seqattn_tf.lite.formats import FORMAT
from seqattn_tf.serving.client import connect
from seqattn_tf.training import evaluation, recipes
from seqattn_tf.training.tasks import Settings

TINY = ["units=4", "embedding=4", "epochs=1", "batch_size=64", "warmup_steps=2", "source_tokenizer=spaces"]
GREEDY = ["beam_width=1", "alternatives=0"]
COLUMNS = ["text_column=ask", "target_column=say", "target_tokenizer=spaces", "max_length_ratio=3"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A small table in the working directory."""
    monkeypatch.chdir(tmp_path)
    rows = [f"word {i % 7} and {i},a long answer {i % 5}" for i in range(90)]
    (tmp_path / "own.csv").write_text("\n".join(["ask,say", *rows]) + "\n", encoding="utf-8")
    return tmp_path / "own.csv"


def train(*more, settings=(*TINY, *COLUMNS, *GREEDY), folder="run"):
    sets = [part for setting in settings for part in ("--set", setting)]
    with untraced():  # only a few steps
        return cli.main(["train", "translate", "--preset", "small", "--data", "own.csv", "--run", folder, *sets, *more])


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"seqattn {__version__}\n"


def test_every_recipe_is_listed_with_what_it_does(capsys):
    assert cli.main(["recipes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == recipes.names()
    assert all(recipes.get(line.split()[0]).summary in line for line in lines)


WITHOUT_TENSORFLOW = """
import sys
sys.modules.update(tensorflow=None, keras=None)
from seqattn_tf import cli
for command in {commands}:
    try:
        print(cli.main(command))
    except SystemExit as ended:
        print(ended.code)
"""


def test_commands_that_need_no_tensorflow_do_not_import_it(tmp_path):
    """A slow start for a listing, for help or for a misspelled name: TensorFlow takes seconds to import."""
    commands = {
        ("recipes",): 0,
        ("train", "--help"): 0,
        ("recipe",): 2,
        ("data",): 0,
        ("data", "ud_ewt"): 0,
        ("data", "ud_etw"): 2,
        ("data", "ud_ewt", "--from", "."): 2,
        ("train", "pronunce"): 2,
        ("query", "pronounc", "hello"): 2,
        ("explain", "unknown", "hello"): 2,
        ("map", "unknown", "in.txt", "out.txt"): 2,
        ("evaluate", "runs/unknown"): 2,
        ("quantize", "runs/unknown", "small"): 2,
        ("export", "unknown", "models/unknown"): 2,
        ("query", "pronounce", "hello", "--url", "http://127.0.0.1:9"): 1,
        ("query", "pronounce", "hello", "--url", "grpc://127.0.0.1:9"): 1,
        ("evaluate", "pronounce"): 2,
        ("runs", "unknown"): 2,
        ("query", "pronounce", "hello", "--json"): 0,
        ("query", "tag", "Time flies."): 0,
        ("explain", "pronounce", "hello", "-o", "hello.png"): 0,
        ("map", "pronounce", "words.txt", "spoken.jsonl", "--processes", "0"): 0,
    }
    (tmp_path / "words.txt").write_text("hello\n", encoding="utf-8")
    code = WITHOUT_TENSORFLOW.format(commands=[list(command) for command in commands])
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    statuses = [line for line in run.stdout.splitlines() if line.isdigit()]
    assert statuses == [str(status) for status in commands.values()], run.stdout + run.stderr
    assert "seqattn train: recipe: expected one of ['answer'" in run.stderr
    assert "XNNPACK" not in run.stderr
    assert "seqattn evaluate: expected the package tensorflow. Received: it is not installed" in run.stderr
    assert json.loads((tmp_path / "spoken.jsonl").read_text(encoding="utf-8"))["answer"] == "HH AH L OW"


SERVE_WITHOUT_TENSORFLOW = """
import sys
sys.modules.update(tensorflow=None, tensorflow_serving=None)
from seqattn_tf import cli
sys.exit(cli.main(["serve", *sys.argv[1:], "--rest_api_port", "0", "--port", "0"]))
"""


def test_presets_are_served_at_once_without_tensorflow():
    """A server that exports models before it answers, or that imports TensorFlow, of which it needs nothing."""
    command = [sys.executable, "-c", SERVE_WITHOUT_TENSORFLOW, "pronounce", "tag"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            lines = [process.stdout.readline().split() for _ in range(5)]
            addresses = dict(line for line in lines if line[0] in ("page", "REST", "gRPC"))
            loaded = [" ".join(line) for line in lines if line[0] == "model"]
            assert loaded == ["model pronounce version 1 (1 of 2)", "model tag version 1 (2 of 2)"]
            for address in (addresses["REST"], addresses["gRPC"]):
                with contextlib.closing(connect(address)) as client:
                    assert client.answer("pronounce", ["hello"])[0].text == "HH AH L OW"
            with urllib.request.urlopen(addresses["page"] + "page/models.json") as response:
                models = json.loads(response.read())["models"]
            assert [(model["name"], model["engine"]) for model in models] == [
                ("pronounce", "litert"),
                ("tag", "litert"),
            ]
            assert models[0]["examples"][0] == {"text": "attention"}
        finally:
            process.terminate()
        assert process.wait(timeout=20) == 0
        assert process.stdout.read() == "draining\n"
        assert "only this machine can connect; --host=0.0.0.0" in process.stderr.read()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["pronunce"],
            r"models: expected presets \(.*\) or one folder.* Received: pronunce.*pronounce",
        ),
        (["pronounce", "models"], r"Received: pronounce models"),
        (["pronounce", "--container_image", "i", "--engine", "litert"], r"expected tensorflow with a container image"),
    ],
)
def test_models_that_cannot_be_served_are_refused_at_once(arguments, message, capsys):
    assert cli.main(["serve", *arguments]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_a_picture_does_not_replace_its_input(tmp_path, capsys):
    (tmp_path / "word.png").write_text("hello", encoding="utf-8")
    assert cli.main(["explain", "pronounce", f"@{tmp_path}/word.png", "-o", f"{tmp_path}/x/../word.png"]) == 2
    assert "output: expected another file than that of the input. Received: " in capsys.readouterr().err
    assert (tmp_path / "word.png").read_text(encoding="utf-8") == "hello"


@pytest.mark.parametrize("values", [["hello"], ["hello"] * 3 + ["--json"]], ids=["at the end", "in between"])
def test_a_reader_that_wants_no_more_is_no_error(values):
    """`seqattn query ... | head -1` must not end with a message about a broken pipe."""
    command = [sys.executable, "-m", "seqattn_tf.cli", "query", "pronounce", *values]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=30) == 1


@pytest.mark.parametrize("name", ["translate", "word_lm", "toy", "execute"])
def test_help_tells_every_setting_with_its_value_and_meaning(name, capsys):
    assert cli.main(["train", name, "--preset", "small", "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: seqattn train")
    settings = recipes.get(name).small
    listed = dict(line.split("  ", 2)[1:] for line in out.partition("\nsettings of")[2].splitlines()[1:])
    listed = {text.strip(): meaning.strip() for text, meaning in listed.items()}
    for field in dataclasses.fields(settings):
        assert listed[f"{field.name}={getattr(settings, field.name)}"], field.name
    assert len(listed) == len(dataclasses.fields(settings))


def test_every_setting_has_a_meaning():
    classes = {type(recipes.get(name).settings) for name in recipes.PACKAGED}
    assert Settings not in classes
    for kind in classes:
        assert all(kind.meanings().values()), kind


def test_help_without_a_recipe_and_no_recipe_at_all(capsys):
    assert cli.main(["train", "-h"]) == 0
    assert "\nsettings of" not in capsys.readouterr().out
    assert cli.main(["train"]) == 2
    assert "recipe: expected one of ['answer', 'answer_image', 'caption'" in capsys.readouterr().err


def test_the_help_of_every_command_can_be_printed():
    """A percent sign in a help text is an error of argparse that appears only when the help is printed."""
    parser = cli._parser()
    assert "sweep" in parser.format_help()
    [commands] = [action for action in parser._actions if hasattr(action, "choices") and action.choices]
    assert len(commands.choices) > 15
    for name, command in commands.choices.items():
        assert f"seqattn {name}" in command.format_help()


def test_the_mapping_is_printed_and_the_data_are_remembered(table, tmp_path, monkeypatch, capsys):
    assert train("--metric", "exact") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("data: own.csv (dev and test held out of train by hash of the source); text = ask, target")
    assert out[-1] == "best model saved in run; evaluate it: seqattn evaluate run"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert cli.main(["evaluate", "../run"]) == 0
    assert "\naccuracy  0." in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    table.rename(tmp_path / "moved.csv")
    assert cli.main(["evaluate", "run"]) == 2
    said = f"data: expected {table}, which run was trained on. Received: no such file; use --data if it has moved"
    assert capsys.readouterr().err.strip().endswith(said)
    assert cli.main(["evaluate", "run", "--data", "moved.csv"]) == 0  # only its contents matter
    with (tmp_path / "moved.csv").open("a") as file:
        file.write("one,more\n")
    assert cli.main(["evaluate", "run", "--data", "moved.csv"]) == 2
    assert "data: expected own.csv" in capsys.readouterr().err
    config = json.loads((tmp_path / "run/config.json").read_text())
    assert config["record"]["settings"]["metric"] == "exact"
    assert list(config["record"]["metrics"])[-1] == "dev_accuracy"


def test_a_metric_that_nobody_knows_is_refused(table, capsys):
    assert train("--metric", "guess") == 2
    assert re.search(
        r"metric: expected one of \['attachment', 'bleu', .*\]\. Received: 'guess'", capsys.readouterr().err
    )
    assert cli.main(["train", "toy", "--run", "other", "--set", "metric=exact", "--set", "units=0"]) == 2


def test_warnings_name_no_file_of_ours_and_other_answers_say_what_ranks_them(table, capsys):
    with table.open("a") as file:
        file.write("too,many,cells\n")
    wide = ["beam_width=3", "alternatives=2", "length_penalty=0.5"]
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as outside of tests
        assert (
            train(
                settings=[
                    *TINY,
                    *COLUMNS[:2],
                    "target_tokenizer=characters",
                    "max_length_ratio=1",
                    "max_bad_rows=0.02",
                    *wide,
                ]
            )
            == 0
        )
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("seqattn train: ")]
    assert lines[0] == (
        "seqattn train: own.csv, line 92: expected 2 columns, as in the first line. Received: 'too,many,cells'"
    )
    assert lines[1].startswith("seqattn train: max_length_ratio=1: ")
    assert "use --set max_length_ratio=" in lines[1]
    assert not [line for line in lines if ".py" in line]
    assert cli.main(["query", "run", "word 1 and 2", "--nbest"]) == 0
    out, err = capsys.readouterr()
    assert "ranked by log-probability with a length penalty of 0.5" in err
    assert len(out.splitlines()) == 3
    assert cli.main(["query", "run", "word 1 and 2"]) == 0
    assert capsys.readouterr().out == out.splitlines(keepends=True)[0]


def test_generated_data_take_no_other(capsys):
    for recipe in ("toy", "execute"):
        assert cli.main(["train", recipe, "--data", "own.csv"]) == 2
        assert (
            "data: expected none, because this recipe generates its data. Received: own.csv" in capsys.readouterr().err
        )
        assert "split_column" not in recipes.get(recipe).settings.meanings()


def test_what_cannot_be_done_is_refused_before_any_evaluation(capsys):
    assert cli.main(["evaluate", "pronounce", "nowhere"]) == 2
    assert "Received: 'nowhere'" in capsys.readouterr().err
    assert cli.main(["evaluate", "pronounce", "-o", "picture.xyz"]) == 2
    assert "ends in .png, .svg or .pdf" in capsys.readouterr().err


@pytest.mark.parametrize(("number", "status"), [slow(signal.SIGINT, 130), (signal.SIGTERM, 75)])
def test_a_signal_leaves_a_clean_line_a_status_of_its_own_and_a_run_that_goes_on(number, status, table, tmp_path):
    small = [
        "units=4",
        "embedding=4",
        "min_count=1",
        "pool=average",
        "encoder=forward",
        "text_column=ask",
        "target_column=say",
    ]
    settings = [*small, "epochs=400", "patience=400"]
    sets = [part for setting in settings for part in ("--set", setting)]
    command = [sys.executable, "-m", "seqattn_tf.cli", "train", "classify", "--preset", "small", "--data", "own.csv"]
    command += ["--run", "run", *sets]
    with forked.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as run:
        deadline = time.time() + 120
        while not list((tmp_path / "run").glob("checkpoints/*.npz")) and time.time() < deadline:
            time.sleep(0.1)
        run.send_signal(number)
        said = run.communicate(timeout=60)[1]
    assert run.returncode == status
    assert said.endswith("\nseqattn train: stopped: run the same command again to resume from run\n")
    assert "Traceback" not in said


@pytest.mark.slow
def test_every_command_works_in_a_process_of_its_own(table, tmp_path):
    """Other tests fork processes with all modules imported, so they would not detect a missing import."""

    def seqattn(*arguments):
        done = subprocess.run([sys.executable, "-m", "seqattn_tf.cli", *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    sets = [part for setting in (*TINY, *COLUMNS, *GREEDY) for part in ("--set", setting)]
    learning = ["translate", "--preset", "small", "--data", "own.csv", *sets]
    assert "translate" in seqattn("recipes")
    seqattn("train", *learning, "--run", "first")
    seqattn("train", *learning, "--run", "second", "--set", "seed=1")
    seqattn("distill", *learning, "--run", "third", "--teacher", "first")
    seqattn("ensemble", "first", "second", "-o", "both")
    seqattn("quantize", "first", "less")
    assert "second" in seqattn("runs", "first", "second")
    assert "\nbleu" in seqattn("evaluate", "first")
    seqattn("explain", "first", "word 1 and 1")
    seqattn("gallery", "pronounce")
    seqattn("export", "first", "models/first", "--no-lite")
    (tmp_path / "rows.txt").write_text("word 1 and 1\n")
    seqattn("map", "first", "rows.txt", "answers.jsonl", "--processes", "0")
    assert seqattn("query", "both", "word 1 and 1")
    for name in ("alignment.png", "gallery.md", "models/first/1/saved_model.pb", "answers.jsonl", "less"):
        assert (tmp_path / name).exists(), name


def test_one_bad_question_costs_no_other_its_answer(capsys):
    """`seqattn query` must print the other answers and name the word that is too long."""
    long = "x" * 70
    assert cli.main(["query", "pronounce", "hello", long, "world", "--nbest"]) == 2
    out, err = capsys.readouterr()
    assert [line.split("\t")[0] for line in out.splitlines()][:1] == ["hello"]
    assert "world\tW ER L D" in out
    assert f"seqattn query: row 1 ('{long[:50]}" in err
    assert "text: expected at most 64 symbols. Received: 70" in err
    assert cli.main(["query", "pronounce", long]) == 2
    assert capsys.readouterr().err == "seqattn query: text: expected at most 64 symbols. Received: 70\n"


def test_which_setting_gives_other_answers_is_named(capsys):
    """The message about missing alternatives for `--nbest` must name the setting that produces some."""
    assert cli.main(["query", "parse", "I saw her", "--nbest"]) == 0
    assert "a single answer: it has no setting `alternatives`" in capsys.readouterr().err


def test_a_picture_that_cannot_be_drawn_is_refused_before_any_evaluation(tmp_path, monkeypatch, capsys):
    """`evaluate -o x.png` with a metric without groups must not evaluate, write nothing and exit with 0."""
    monkeypatch.setattr(evaluation, "evaluate", lambda *_: pytest.fail("evaluated"))
    (tmp_path / "run").mkdir()
    record = {"recipe": "transliterate", "settings": {"metric": "exact"}, "data": "", "fingerprint": ""}
    config = {"format": FORMAT, "system": "seq2seq", "settings": {}, "record": record}
    (tmp_path / "run/config.json").write_text(json.dumps(config))
    assert evaluation.groups_of(tmp_path / "run") == []
    assert cli.main(["evaluate", str(tmp_path / "run"), "-o", "x.png"]) == 2
    assert "output: expected a metric with groups to plot. Received: none; omit --output" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["trian", "toy"], "'train'"),
        (["query", "pronounce", "hello", "--nbset"], "'--nbest'"),
        (["train", "toy", "--preset", "smal"], "'small'"),
        (["train", "toy", "--sett", "units=3"], "'--set'"),
    ],
)
def test_a_correction_is_suggested_for_unknown_commands_options_and_choices(arguments, meant, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err


def test_a_forgotten_at_is_said(tmp_path, capsys, monkeypatch):
    """Without the @, the name of a picture would be read as the contents of a picture."""
    monkeypatch.chdir(tmp_path)
    for command in (["query", "caption_scene", "in/blank.png"], ["explain", "caption_scene", "in/blank.png"]):
        assert cli.main(command) == 2
        assert "Received: 'in/blank.png'; did you mean @in/blank.png?" in capsys.readouterr().err
    (tmp_path / "words.txt").write_text("hello")
    assert cli.main(["query", "pronounce", "words.txt"]) == 0
    assert "words.txt is the name of an existing file; did you mean @words.txt?" in capsys.readouterr().err


def test_one_bad_question_to_a_server_costs_no_other_its_answer():
    """A server rejects all rows of a request together, so they are sent one by one; connection errors remain errors."""
    from seqattn_tf.cli.asking import _answers_of
    from seqattn_tf.serving.errors import ServingError

    class Client:
        def __init__(self, code):
            self.code = code

        def answer(self, model, rows):
            if any(row["text"] == "bad" for row in rows):
                raise ServingError(self.code, "text: expected something else")
            return [row["text"].upper() for row in rows]

    rows = [{"text": text} for text in ("one", "bad", "two")]
    first, wrong, last = _answers_of(Client("INVALID_ARGUMENT"), "toy", rows)
    assert (first, last, wrong.row) == ("ONE", "TWO", 1)
    with pytest.raises(ServingError):
        _answers_of(Client("UNAVAILABLE"), "toy", rows)
