"""A Ray cluster of two nodes on this machine, one of which fails during the job."""

import json
import sys
import threading
import time

import pytest
from mapping_toys import TEXTS

from seqattn_tf.batch import Options, map_file

ROWS = 3000


def test_without_ray_it_is_said_what_to_install(toy, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    (tmp_path / "in.txt").write_text("good\n")
    message = r"expected the package ray\. Received: it is not installed; run pip install 'seqattn-tf\[ray\]'"
    with pytest.raises(ValueError, match=f"scheduler: {message}"):
        map_file(toy, tmp_path / "in.txt", tmp_path / "out.jsonl", Options(scheduler="ray"), quiet=True)


@pytest.fixture
def cluster():
    ray = pytest.importorskip("ray", reason="needs Ray: pip install 'seqattn-tf[ray]'")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def at_work(node):
    """Return the models on a node."""
    from ray._private import state  # the public API needs a dashboard, which is missing here

    return [actor for actor in state.actors().values() if actor["Address"]["NodeID"] == node.node_id]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_node_is_lost_and_no_row(cluster, toy, tmp_path, answers_in_place, monkeypatch):
    rows = [{"n": n, "text": TEXTS[n % 50] + " x" * (n % 211 == 0) * 20} for n in range(ROWS)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    whole = answers_in_place(toy, tmp_path / "in.jsonl", tmp_path / "whole.jsonl", shard_rows=20, batch_size=1)
    node = cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    parts, lost = tmp_path / "out.jsonl.parts", []

    def lose():
        while len(list(parts.glob("part-*"))) < ROWS / 20 / 3 or not at_work(node):
            time.sleep(0.05)
        cluster.remove_node(node, allow_graceful=False)
        lost.append(len(list(parts.glob("part-*"))))

    loser = threading.Thread(target=lose, daemon=True)
    loser.start()
    options = Options(scheduler="ray", address=cluster.address, shard_rows=20, batch_size=1)
    done = map_file(toy, tmp_path / "in.jsonl", tmp_path / "out.jsonl", options, quiet=True)
    loser.join(20)
    assert lost
    assert lost[0] < ROWS / 20
    assert done[:2] == whole[:2] == (ROWS, 15)
    assert done.output.read_bytes() == whole.output.read_bytes()
    assert done.rejected_output.read_bytes() == whole.rejected_output.read_bytes()
