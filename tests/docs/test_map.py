"""docs/map.md: its Python code runs."""

from support.pages import python_of

from seqattn_tf.batch.outputs import FORMATS
from seqattn_tf.batch.readers import READERS


def test_the_python_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [block] = python_of("map.md")
    scope = {}
    exec(block, scope)
    assert scope["done"][:2] == (2, 0)
    lines = (tmp_path / "spoken.csv").read_text().splitlines()
    assert lines[0] == "text,answer,score"
    assert [line.split(",")[:2] for line in lines[1:]] == [["hello", "HH AH L OW"], ["attention", "AH T EH N SH AH N"]]


def test_what_comes_in_can_go_out():
    assert READERS.keys() == FORMATS.keys()
