"""The page on serving: its Python asks a running server, and the commands it shows exist."""

import re
import shlex
from pathlib import Path

from serving_toys import answering, config, export_fixed

from seqattn_tf import cli
from seqattn_tf.serving.server import Server

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
SHOWN = {"entail": ["premise", "hypothesis"], "answer": ["story", "question"], "caption": ["image"]}


def test_the_python_of_the_page_runs(exported, tmp_path, monkeypatch):
    for name, inputs in SHOWN.items():
        export_fixed(tmp_path / "models" / name / "1", answering("yes"), inputs)
    (tmp_path / "models/pronounce").symlink_to(exported / "models/pronounce")
    (tmp_path / "dog.png").write_bytes(b"\x89PNG")
    monkeypatch.chdir(tmp_path)
    [block] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert block.count("127.0.0.1:8500") == 1
    names = {}
    with Server(config(tmp_path / "models")) as server:
        exec(block.replace("127.0.0.1:8500", server.grpc_address), names)
        names["client"].close()
    assert names["answer"].text == "AH T EH N SH AH N"
    assert names["answer"].looks["text"].weights.shape == (7, 9)


def test_every_command_of_the_page_exists():
    lines = re.findall(r"^\$? ?seqattn (.+?)$", PAGE, re.M)
    assert {"serve", "export", "query"} <= {line.split()[0] for line in lines}
    for line in lines:
        cli._parser().parse_args(shlex.split(line.split("  #")[0]))
