"""docs/query.md: its examples work as shown."""

import re
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "query.md").read_text(encoding="utf-8")


def test_the_python_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    [block] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(block, names)
    assert names["hello"].text == "HH AH L OW"
    assert f"({names['error'].row}, '{names['error'].reason}')" in block
    assert (tmp_path / "hello.png").is_file()
