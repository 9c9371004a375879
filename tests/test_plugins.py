"""External modules: how they are loaded, what is stored about them, and what is never executed."""

import gc
import json
import sys
import warnings
from pathlib import Path

import keras
import pytest
from support.step_by_step import step_by_step  # noqa: F401

from seqattn_tf import plugins
from seqattn_tf.attention import Alignment, Score
from seqattn_tf.cells import Cell, RNNCell
from seqattn_tf.encoders import Encoder
from seqattn_tf.lite.fields import Field, Text
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import EncoderDecoder, Seq2Seq, load
from seqattn_tf.training import evaluation, recipes
from seqattn_tf.training.data import Examples, from_text
from seqattn_tf.training.tasks import PairSettings, PairTask

CELL = """
from seqattn_tf.cells import RNNCell

class {kind}(RNNCell):
    name_in_registry = "{name}"
"""


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    """Remove modules and names at the end of the test that adds them."""
    monkeypatch.setattr(Cell, "registry", dict(Cell.registry))
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("plugged"):
            del sys.modules[name]
    plugins.load_installed.cache_clear()


def write(folder, name, text):
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="from 3.12 on, garbage is collected between bytecodes only")
def test_a_module_may_appear_while_modules_are_searched(tmp_path, monkeypatch):
    """Would fail with a loop over the items of `sys.modules`, as it did once, when a finalizer imported a module."""
    module = plugins.load(write(tmp_path, "plugged_owner", "thing = object()"))
    modules = dict(sys.modules)
    monkeypatch.setattr(sys, "modules", modules)

    def import_one(phase, info):
        modules[f"plugged_{len(modules)}"] = module

    threshold = gc.get_threshold()
    gc.callbacks.append(import_one)
    gc.set_threshold(1)
    try:
        found = plugins.holding(module.thing)
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(import_one)
    assert found["plugged_owner"] == "plugged_owner.py"


def test_a_file_is_imported_once_and_its_cell_found(tmp_path):
    path = write(tmp_path, "plugged_cell", CELL.format(kind="Mine", name="mine_of_a_file"))
    module = plugins.load(path)
    assert plugins.load(str(path)) is module
    cell = Cell.get("mine_of_a_file", units=3)
    assert type(cell).__name__ == "Mine"
    assert keras.saving.get_registered_name(type(cell)) == "plugged_cell>Mine"  # saved without a decorator
    assert plugins.needed_by([cell, RNNCell(2)]) == {"plugged_cell": "plugged_cell.py"}


def test_a_module_of_the_working_folder_is_imported_by_its_name(tmp_path, monkeypatch):
    write(tmp_path, "plugged_module", CELL.format(kind="Other", name="mine_of_a_module"))
    monkeypatch.chdir(tmp_path)
    plugins.load("plugged_module")
    assert Cell.member("mine_of_a_module").__name__ == "Other"


def test_what_cannot_be_imported_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"can be imported\. Received: no_such, ModuleNotFoundError: No module"):
        plugins.load("no_such")
    with pytest.raises(ValueError, match=r"plug-in: expected a Python file\. Received: .*nowhere\.py"):
        plugins.load(tmp_path / "nowhere.py")
    for name, reason in (
        ("json", "name that is not the name of another module"),
        ("my-recipe", "named with letters, digits and _"),
    ):
        with pytest.raises(ValueError, match=rf"plug-in: expected a file {reason}\. Received: {name}\.py"):
            plugins.load(write(tmp_path, name, ""))
    broken = write(tmp_path, "plugged_broken", "def (:")
    with pytest.raises(ValueError, match=r"can be imported.*plugged_broken\.py, SyntaxError: invalid syntax"):
        plugins.load(broken)
    half = write(tmp_path, "plugged_half", "import no_such_thing")
    with pytest.raises(ValueError, match="No module named 'no_such_thing'"):
        plugins.load(half)
    assert "plugged_half" not in sys.modules
    for text, why in (("1 / 0", "ZeroDivisionError: division by zero"), ("raise SystemExit(3)", "SystemExit: 3")):
        name = f"plugged_{why[:4].lower()}"
        with pytest.raises(ValueError, match=rf"{name}\.py, {why} \({name}\.py, line 2\)"):
            plugins.load(write(tmp_path, name, f"\n{text}\n"))


def test_a_file_may_import_what_lies_beside_it(tmp_path):
    write(tmp_path, "plugged_beside", "WORD = 'beside'")
    assert plugins.load(write(tmp_path, "plugged_sibling", "from plugged_beside import WORD")).WORD == "beside"


def test_a_name_that_is_taken_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match=r"name_in_registry: 'lstm' is already the name of seqattn_tf\.cells\.lstm\.LSTMCell"
    ):
        plugins.load(write(tmp_path, "plugged_taker", CELL.format(kind="Taker", name="lstm")))
    assert Cell.member("lstm").__name__ == "LSTMCell"
    metric = "from seqattn_tf.training.metrics import Metric\ndef f(a, r): ...\nMetric('exact', f, figure='x')\n"
    with pytest.raises(
        ValueError, match=r"name: 'exact' is already the name of the metric .*exact_match\. Choose another"
    ):
        plugins.load(write(tmp_path, "plugged_metric", metric))


def test_what_is_installed_is_found_without_being_named(tmp_path, monkeypatch):
    write(tmp_path, "plugged_installed", CELL.format(kind="Installed", name="mine_of_a_distribution"))
    folder = tmp_path / "plugged-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        "[seqattn_tf.plugins]\nmine = plugged_installed\nbroken = plugged_nowhere\nwrong = plugged_wrong\n", "utf-8"
    )
    write(tmp_path, "plugged_wrong", "1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugins.load_installed.cache_clear()
    with (
        pytest.warns(UserWarning, match=r"plug-in broken \(plugged_nowhere\) cannot be imported: No module"),
        pytest.warns(UserWarning, match=r"plug-in wrong \(plugged_wrong\) cannot be imported: division by zero"),
    ):
        kind = Cell.member("mine_of_a_distribution")
    assert kind.__name__ == "Installed"


def test_names_that_nobody_has_are_refused_as_before():
    with pytest.raises(ValueError, match=r"cell: expected one of \[.*'gru'.*\] or a Cell\. Received: 'no_such'"):
        Cell.get("no_such")
    with pytest.raises(ValueError, match=r"field: expected one of .* Received: \['text'\]"):
        Field.member(["text"])


RECIPE = """
from seqattn_tf.training.recipes import Recipe, load_pairs
from seqattn_tf.training.tasks import PairTask, TableSettings

recipe = Recipe("{name}", "a summary", load_pairs, PairTask(), TableSettings(), TableSettings())
"""


def test_a_recipe_comes_from_a_file_with_a_name_of_its_own(tmp_path):
    recipe = recipes.from_file(write(tmp_path, "plugged_recipe", RECIPE.format(name="plugged")))
    assert recipes.get("plugged") is recipe
    assert recipe.plugins == {"plugged_recipe": "plugged_recipe.py"}
    assert "plugged" in recipes.names()
    del recipes.Recipe.made["plugged"]
    with pytest.raises(
        ValueError, match=r"expected a name that differs from the recipes of the package\. Received: 'translate'"
    ):
        recipes.from_file(write(tmp_path, "plugged_taken", RECIPE.format(name="translate")))
    with pytest.raises(ValueError, match=r"plugged_empty\.py: expected a Recipe named `recipe`\. Received: None"):
        recipes.from_file(write(tmp_path, "plugged_empty", ""))
    with pytest.raises(ValueError, match=r"recipe: expected one of .* or a Python file to train\. Received: .unknown."):
        recipes.get("unknown")


def made(cell):
    rules = SymbolRules(tuple("abc"))
    network = EncoderDecoder.of_symbols(vocabulary=rules.size, target_vocabulary=rules.size, units=2, cell=cell)
    return Seq2Seq(network, {"text": Text(rules)}, Symbols(rules, 5))


def test_a_model_remembers_what_it_is_made_of_and_says_so(tmp_path, monkeypatch):
    path = write(tmp_path, "plugged_kept", CELL.format(kind="Kept", name="mine_that_is_kept"))
    plugins.load(path)
    model = made("mine_that_is_kept")
    model.save(tmp_path / "run", {"recipe": "r"})
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["plugins"] == {"plugged_kept": "plugged_kept.py"}
    assert load(tmp_path / "run").answer(["ab"])[0].text == model.answer(["ab"])[0].text
    for known, name in (  # simulates another process
        (sys.modules, "plugged_kept"),
        (plugins._files, "plugged_kept"),
        (Cell.registry, "mine_that_is_kept"),
        (keras.saving.get_custom_objects(), "plugged_kept>Kept"),
    ):
        monkeypatch.delitem(known, name)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(tmp_path)])
    with pytest.raises(ValueError, match=r"it needs plugged_kept: import that first, or use --plugin plugged_kept\.py"):
        load(tmp_path / "run")
    assert made("gru").plugins == {}


def test_a_folder_runs_nothing(tmp_path, monkeypatch):
    """Modules named in a folder are not imported, whether they are beside it, in it or on the import path."""
    model = made("gru")
    folder = tmp_path / "run"
    model.save(folder, {"recipe": "r"}, compact=True)
    trap = "from pathlib import Path\nPath(__file__).with_suffix('.ran').write_text('ran')\n"
    for where in (tmp_path, folder):
        write(where, "plugged_trap", trap)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    config["plugins"] = {"plugged_trap": "plugged_trap.py"}
    config["network"]["module"] = "plugged_trap"
    config["network"]["registered_name"] = "plugged_trap>EncoderDecoder"
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="it needs plugged_trap: import that first"):
        load(folder)
    config["system"] = "plugged_trap"
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"model: expected one of .*; it needs plugged_trap"):
        load(folder)
    assert not [*tmp_path.rglob("*.ran")]


def test_a_moved_class_is_found_by_its_name(tmp_path):
    """A class may be found by its registered name in another module than the one that first defined it."""
    made("gru").save(tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    config["plugins"] = {"plugged_before": "plugged_before.py"}
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(tmp_path / "run").answer(["a"])


def test_advice_names_a_file_or_a_module():
    assert plugins.advice({"json": "json.py"}) == ""
    assert plugins.advice({"no_file": "no file.py", "no.package": ""}).endswith(
        "needs no_file, no.package: import that first, or use --plugin 'no file.py' --plugin no.package"
    )
    assert "script.py: move its classes into a module" in plugins.advice({"__main__": "script.py"})


def test_a_record_names_a_recipe_and_never_a_file(tmp_path, monkeypatch):
    """The recipe in the record of a folder is looked up by name: a file with that name is not executed."""
    made("gru").save(tmp_path / "run", {"recipe": "run/plugged_pwn.py"})
    write(tmp_path / "run", "plugged_pwn", "from pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\n")
    monkeypatch.chdir(tmp_path)
    config = json.loads(Path("run/config.json").read_text())
    record = {"recipe": "run/plugged_pwn.py", "settings": {}, "data": "d", "fingerprint": "f", "plugins": {}}
    Path("run/config.json").write_text(json.dumps({**config, "record": record}))
    with pytest.raises(ValueError, match=r"recipe: expected one of .*Received: 'run/plugged_pwn\.py'"):
        evaluation.evaluate(Path("run"))
    assert not [*tmp_path.rglob("*.ran")]


@pytest.mark.parametrize(
    "broken",
    [
        {"recipe": 5},
        {"settings": [1]},
        {"settings": {"units": "x"}},
        {"settings": {"metric": [1]}},
        {"settings": {"metric": "gone"}},
        {"given": 5},
        {"plugins": ["x"]},
        {"data": None},
    ],
)
def test_a_broken_record_is_told(tmp_path, broken):
    record = {"recipe": "translate", "settings": {}, "data": "d", "fingerprint": "f", "given": None, "plugins": {}}
    made("gru").save(tmp_path / "run", {**record, **broken})
    with pytest.raises(ValueError, match="run"):
        evaluation.evaluate(tmp_path / "run")


PARTS = """
from seqattn_tf.attention.alignments import SoftmaxAlignment
from seqattn_tf.attention.scores import GeneralScore
from seqattn_tf.cells import GRUCell
from seqattn_tf.encoders import ForwardEncoder
from seqattn_tf.lite.fields import Text

class PlugAlignment(SoftmaxAlignment):
    name_in_registry = "plug_alignment"

class PlugScore(GeneralScore):
    name_in_registry = "plug_score"

class PlugCell(GRUCell):
    name_in_registry = "plug_cell"

class PlugEncoder(ForwardEncoder):
    name_in_registry = "plug_encoder"

class PlugField(Text):
    name_in_registry = "plug_field"
"""


def test_every_part_is_a_setting_by_its_name(tmp_path, monkeypatch):
    for family in (Alignment, Score, Encoder, Field):
        monkeypatch.setattr(family, "registry", dict(family.registry))
    plugins.load(write(tmp_path, "plugged_parts", PARTS))
    named = ["align=plug_alignment", "score=plug_score", "cell=plug_cell", "encoder=plug_encoder", "field=plug_field"]
    settings = PairSettings(units=4, embedding=4).with_assignments(named)
    model = PairTask().build(settings, Examples([from_text("ab", "ba"), from_text("b", "a")]))
    found = {type(part).__name__ for part in [*model.inputs.values(), *model.network._flatten_layers()]}
    assert {"PlugAlignment", "PlugScore", "PlugCell", "PlugEncoder", "PlugField"} <= found
    assert model.plugins == {"plugged_parts": "plugged_parts.py"}
    model.save(tmp_path / "run")
    assert load(tmp_path / "run").answer(["ab"])[0].text == model.answer(["ab"])[0].text


def test_a_file_named_like_another_module_is_refused(tmp_path):
    """An import by name would load the other module instead, even if that is not loaded yet."""
    unused = next(name for name in ("this", "antigravity", "nturl2path", "cgitb") if name not in sys.modules)
    for name in (unused, "json"):
        with pytest.raises(
            ValueError, match=rf"expected a file name that is not the name of another module\. Received: {name}\.py"
        ):
            plugins.load(write(tmp_path, name, "raise RuntimeError('it was run')\n"))
    assert unused not in sys.modules
