"""Randomly generated requests whose replies were compared with those of TensorFlow Serving and must not change.

The requests and TensorFlow Serving's replies are beside the repository (`../shared/serving_cases`). The file here
contains only the replies of this server, one line `status digest` for each. `RECORD=1` makes this test rewrite the
lines: check all changes and their reasons before committing them.
"""

import base64
import hashlib
import http.client
import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest
import serving_toys

from seqattn_tf.serving.server import Server

CASES = Path(__file__).parents[4] / "shared" / "serving_cases"
RECORDED = Path(__file__).parents[2] / "frozen" / "serving_cases.txt"
CONFIG = """model_config_list {{
  config {{ name: "fz" base_path: "{0}/fz" model_platform: "tensorflow" }}
  config {{ name: "half" base_path: "{0}/half" model_platform: "tensorflow"
    model_version_policy {{ all {{}} }} version_labels {{ key: "stable" value: 3 }} }}
  config {{ name: "txt" base_path: "{0}/txt" model_platform: "tensorflow" }}
}}"""


def reply_line(port, row):
    """Return the status and a digest of the reply to a request; the order of object members is ignored.

    If a request has several errors, the reported one depends on the order of a hash map, which differs between
    processes. Therefore, the line of an error contains only its status.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(row["method"], row["path"], base64.b64decode(row["body"]) or None)
        reply = connection.getresponse()
        body = reply.read()
    finally:
        connection.close()
    if reply.status != http.HTTPStatus.OK:
        return str(reply.status)
    return f"200 {hashlib.sha256(json.dumps(json.loads(body), sort_keys=True).encode()).hexdigest()[:8]}"


@pytest.mark.slow
def test_recorded_replies_are_unchanged(tmp_path):
    if not CASES.is_dir():
        pytest.skip("needs ../shared/serving_cases beside the repository")
    subprocess.run([sys.executable, str(CASES / "models.py"), str(tmp_path / "models")], check=True)
    (tmp_path / "models.config").write_text(CONFIG.format(tmp_path / "models"))
    with lzma.open(CASES / "rest.jsonl.xz", "rt") as file:
        rows = [json.loads(line) for line in file]
    with Server(serving_toys.config(None, model_config_file=tmp_path / "models.config")) as server:
        found = [reply_line(int(server.rest_url.rpartition(":")[2]), row) for row in rows]
    if os.environ.get("RECORD"):
        RECORDED.write_text("\n".join(found) + "\n")
    recorded = RECORDED.read_text().splitlines()
    changed = [f"{row['method']} {row['path']}" for row, a, b in zip(rows, recorded, found, strict=True) if a != b]
    assert not changed, f"{len(changed)} replies changed: {changed[:10]}"
