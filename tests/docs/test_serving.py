"""docs/serving.md: its Python code queries a running server."""

from serving_toys import answering, config, export_fixed
from support.pages import python_of

from seqattn_tf.serving.server import Server

SHOWN = {"entail": ["premise", "hypothesis"], "answer": ["story", "question"], "caption": ["image"]}


def test_the_python_of_the_page_runs(exported, tmp_path, monkeypatch):
    for name, inputs in SHOWN.items():
        export_fixed(tmp_path / "models" / name / "1", answering("yes"), inputs)
    (tmp_path / "models/pronounce").symlink_to(exported / "models/pronounce")
    (tmp_path / "dog.png").write_bytes(b"\x89PNG")
    monkeypatch.chdir(tmp_path)
    [block] = python_of("serving.md")
    assert block.count("127.0.0.1:8500") == 1
    names = {}
    with Server(config(tmp_path / "models")) as server:
        exec(block.replace("127.0.0.1:8500", server.grpc_address), names)
        names["client"].close()
    assert names["answer"].text == "AH T EH N SH AH N"
    assert names["answer"].attention["text"].weights.shape == (7, 9)
