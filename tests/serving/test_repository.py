import shutil
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from serving_toys import http_request, install, post, until

from seqattn_tf.serving.client import RestClient
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.repository import ModelRepository


def states(repository, name="toy"):
    return {status.version: status.state for status in repository.status(name)}


def served(repository):
    return repository.get("toy").version


@pytest.fixture
def repository(repository_root):
    repository = ModelRepository(repository_root, poll_seconds=0)  # tests say when it looks
    repository.start()
    yield repository
    repository.stop()


def truncate(version):
    path = version / "saved_model.pb"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    return whole


def test_only_folders_that_are_versions_count(repository, repository_root, exports):
    for name in ("latest", "-3", "1.5", "٣", str(2**63), ".tmp-9"):
        shutil.copytree(exports / "2", repository_root / "toy" / name)
    (repository_root / "toy" / "8").mkdir()
    (repository_root / "toy" / "9").touch()
    (repository_root / "empty").mkdir()
    repository.poll()
    assert states(repository) == {1: "AVAILABLE"}
    assert repository.names() == ["toy"]
    shutil.copytree(exports / "2", repository_root / "toy" / "00000123")
    repository.poll()
    assert served(repository) == 123


def test_a_new_version_replaces_the_old_and_a_removed_one_gives_way(repository, repository_root, exports):
    install(exports / "2", repository_root / "toy", 2)
    repository.poll()
    assert states(repository) == {2: "AVAILABLE", 1: "END"}
    assert [status.version for status in repository.status("toy")] == [2, 1]
    with pytest.raises(ServingError, match=r"Servable not found for request: Specific\(toy, 1\)"):
        repository.get("toy", 1)
    shutil.rmtree(repository_root / "toy" / "2")
    repository.poll()
    assert states(repository) == {2: "END", 1: "AVAILABLE"}
    shutil.rmtree(repository_root / "toy")
    repository.poll()
    assert states(repository) == {2: "END", 1: "END"}
    with pytest.raises(ServingError, match=r"Servable not found for request: Latest\(toy\)"):
        repository.get("toy")


def test_a_broken_version_is_refused_and_tried_again_when_its_files_change(repository, repository_root, exports):
    shutil.copytree(exports / "2", repository_root / "toy" / "2")
    whole = truncate(repository_root / "toy" / "2")
    repository.poll()
    assert served(repository) == 1
    newest, good = repository.status("toy")
    assert (newest.version, newest.state, good.state) == (2, "END", "AVAILABLE")
    assert newest.error_code != "OK"
    assert newest.error_message
    assert str(repository_root) not in newest.error_message
    assert repository.status("toy", 2) == [newest]
    repository.poll()
    assert repository.status("toy", 2)[0] is newest  # not tried again: nothing changed
    (repository_root / "toy" / "2" / "saved_model.pb").write_bytes(whole)
    repository.poll()
    assert served(repository) == 2


def test_missing_variables_are_a_broken_version_too(repository, repository_root, exports):
    shutil.copytree(exports / "2", repository_root / "toy" / "2")
    shutil.rmtree(repository_root / "toy" / "2" / "variables")
    repository.poll()
    assert states(repository) == {2: "END", 1: "AVAILABLE"}
    assert str(repository_root) not in repository.status("toy", 2)[0].error_message


def test_a_restart_next_to_a_broken_version_serves_the_one_before(repository_root, exports):
    shutil.copytree(exports / "2", repository_root / "toy" / "2")
    truncate(repository_root / "toy" / "2")
    repository = ModelRepository(repository_root, poll_seconds=0)
    repository.start()
    assert states(repository) == {2: "END", 1: "AVAILABLE"}


def test_a_servable_in_use_is_unloading_until_it_is_let_go(repository, repository_root, exports):
    held = repository.get("toy")
    install(exports / "2", repository_root / "toy", 2)
    repository.poll()
    assert states(repository) == {2: "AVAILABLE", 1: "UNLOADING"}
    outputs = held.predict("", {"text": np.array([b"a"], object)}, ["version"])
    assert outputs["version"].numpy().tolist() == [1]
    del held
    assert states(repository) == {2: "AVAILABLE", 1: "END"}


def test_reload_under_fire_loses_no_request(running, repository_root, exports):
    done = Event()

    def ask():
        client, seen = RestClient(running.rest_url), []
        while not done.is_set():
            seen += client.predict("toy", {"text": ["a"]})["version"].tolist()
        client.close()
        return seen

    with ThreadPoolExecutor(4) as threads:
        asking = [threads.submit(ask) for _ in range(4)]
        try:
            install(exports / "2", repository_root / "toy", 2)
            until(lambda: served(running.repository) == 2)
            until(lambda: states(running.repository)[1] == "END")
        finally:
            done.set()
        for future in asking:
            seen = future.result(timeout=20)
            assert set(seen) <= {1, 2}
            assert seen == sorted(seen)  # nobody falls back to the old version
    assert post(running.rest_url, {"instances": ["a"]}, "/v1/models/toy/versions/1:predict")[0] == 404


def test_a_request_in_flight_finishes_on_its_version(running, repository_root, exports, gate):
    body = {"signature_name": "wait", "inputs": [gate.path]}
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(post, running.rest_url, body)
        try:
            until(lambda: running._http._busy)
            install(exports / "2", repository_root / "toy", 2)
            until(lambda: served(running.repository) == 2)
            assert states(running.repository)[1] == "UNLOADING"
            assert not waiting.done()
        finally:
            gate.open()
        assert waiting.result(timeout=20) == (200, {"outputs": {"version": [1], "name": [gate.path]}})
    until(lambda: states(running.repository)[1] == "END")


def test_a_broken_version_shows_in_the_status_while_the_good_one_answers(running, repository_root, exports):
    aside = repository_root / "toy" / ".tmp"
    shutil.copytree(exports / "2", aside)
    truncate(aside)
    aside.rename(repository_root / "toy" / "2")
    until(lambda: states(running.repository).get(2) == "END")
    _, answer, text = http_request(running.rest_url, "GET", "/v1/models/toy")
    broken, good = answer["model_version_status"]
    assert (broken["version"], broken["state"], good["state"]) == ("2", "END", "AVAILABLE")
    assert broken["status"]["error_code"] != "OK"
    assert str(repository_root) not in text
    assert post(running.rest_url, {"instances": ["a"]})[0] == 200
