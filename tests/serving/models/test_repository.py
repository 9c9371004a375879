import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from google.protobuf import text_format
from serving_toys import http_request, install, is_working, load_saved_model, post, until

from seqattn_tf.serving.client import RestClient
from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.models.model_config import folder_of_models
from seqattn_tf.serving.models.repository import ModelRepository, _fingerprint
from seqattn_tf.serving.protos import ModelServerConfig


def states(repository, name="toy"):
    return {status.version: status.state for status in repository.status(name)}


def served(repository):
    return repository.get("toy").version


@pytest.fixture
def repository(repository_root):
    repository = ModelRepository(folder_of_models(repository_root), load_saved_model, 0)  # tests call poll themselves
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


def test_files_have_changed_when_their_size_or_their_time_has(tmp_path):
    file = tmp_path / "variables/variables.index"
    file.parent.mkdir()
    seen = []
    for data, seconds in ((b"one", 1), (b"two", 2), (b"three", 2)):
        file.write_bytes(data)
        os.utime(file, (seconds, seconds))
        seen.append(_fingerprint(tmp_path))
    assert len(set(seen)) == 3
    assert _fingerprint(tmp_path) == seen[-1]


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
    assert repository.status("toy", 2)[0] is newest  # not tried again without changes
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
    repository = ModelRepository(folder_of_models(repository_root), load_saved_model, poll_seconds=0)
    repository.start()
    assert states(repository) == {2: "END", 1: "AVAILABLE"}


def test_a_servable_in_use_is_unloading_until_it_is_let_go(repository, repository_root, exports):
    held = repository.get("toy")
    install(exports / "2", repository_root / "toy", 2)
    repository.poll()
    assert states(repository) == {2: "AVAILABLE", 1: "UNLOADING"}
    outputs = held.predict("", {"text": np.array([b"a"], object)}, ["version"])
    assert outputs["version"].tolist() == [1]
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
            assert seen == sorted(seen)  # no client gets the old version again
    assert post(running.rest_url, {"instances": ["a"]}, "/v1/models/toy/versions/1:predict")[0] == 404


def test_a_request_in_flight_finishes_on_its_version(running, repository_root, exports, gate):
    body = {"signature_name": "wait", "inputs": [gate.path]}
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(post, running.rest_url, body)
        try:
            until(lambda: is_working(running))
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


# policies, labels and configs


def config_of(root, more="", name="toy"):
    entry = f'name: "{name}" base_path: "{root}/{name}" model_platform: "tensorflow" {more}'
    return text_format.Parse(f"model_config_list {{ config {{ {entry} }} }}", ModelServerConfig())


@pytest.fixture
def three(repository_root, exports):
    """Versions 1, 2 and 3 of the model."""
    install(exports / "2", repository_root / "toy", 2)
    install(exports / "2", repository_root / "toy", 3)
    return repository_root


@pytest.mark.parametrize(
    ("policy", "serving"),
    [
        ("latest { num_versions: 2 }", [3, 2]),
        ("all {}", [3, 2, 1]),
        ("specific { versions: 1 versions: 3 }", [3, 1]),
        ("specific { versions: 2 versions: 9 }", [2]),
    ],
)
def test_policies_choose_versions(repository, three, policy, serving):
    repository.reload(config_of(three, f"model_version_policy {{ {policy} }}"))
    available = [status.version for status in repository.status("toy") if status.state == "AVAILABLE"]
    assert available == serving
    assert served(repository) == serving[0]
    assert [repository.get("toy", version).version for version in serving] == serving
    for version in {1, 2, 3} - set(serving):
        with pytest.raises(ServingError, match=rf"Specific\(toy, {version}\)"):
            repository.get("toy", version)


def test_a_broken_version_takes_no_place_among_the_latest(repository, three):
    truncate(three / "toy" / "3")
    repository.reload(config_of(three, "model_version_policy { latest { num_versions: 2 } }"))
    assert states(repository) == {3: "END", 2: "AVAILABLE", 1: "AVAILABLE"}


def test_labels_name_versions_that_serve(repository, three):
    policy = "model_version_policy { all {} }"
    stable, canary = (f'version_labels {{ key: "{key}" value: {n} }}' for key, n in (("stable", 1), ("canary", 3)))
    repository.reload(config_of(three, policy + stable + canary))
    assert [repository.get("toy", label=label).version for label in ("stable", "canary")] == [1, 3]
    with pytest.raises(ServingError, match="Unrecognized servable version label: beta") as raised:
        repository.get("toy", label="beta")
    assert raised.value.code == "INVALID_ARGUMENT"
    with pytest.raises(ServingError, match="assign label to version 9 of model toy, which is not currently"):
        repository.reload(config_of(three, policy + 'version_labels { key: "stable" value: 9 }'))
    assert repository.get("toy", label="stable").version == 1  # unchanged


def test_a_label_may_wait_for_its_version_where_that_is_allowed(repository_root, exports):
    repository = ModelRepository(
        folder_of_models(repository_root), load_saved_model, poll_seconds=0, labels_need_a_version=False
    )
    repository.start()
    repository.reload(config_of(repository_root, 'version_labels { key: "next" value: 2 }'))
    with pytest.raises(ServingError, match=r"Servable not found for request: Specific\(toy, 2\)"):
        repository.get("toy", label="next")
    install(exports / "2", repository_root / "toy", 2)
    repository.poll()
    assert repository.get("toy", label="next").version == 2
    with pytest.raises(ServingError, match="assign label to version 3"):  # an existing label must not become invalid
        repository.reload(config_of(repository_root, 'version_labels { key: "next" value: 3 }'))
    assert repository.get("toy", label="next").version == 2


def test_another_list_of_models(repository, repository_root, exports):
    install(exports / "2", repository_root / "other", 5)
    old = repository.get("toy")
    repository.reload(config_of(repository_root, name="other"))
    assert repository.get("other").version == 5
    assert states(repository) == {1: "UNLOADING"}
    del old
    assert states(repository) == {1: "END"}
    repository.reload(ModelServerConfig())  # an empty config changes nothing
    assert repository.get("other").version == 5
    both = config_of(repository_root, name="other")
    both.model_config_list.config.add(name="new", base_path=str(repository_root / "new"), model_platform="tensorflow")
    with pytest.raises(ServingError, match=r"Some models did not become available: \{new\}"):
        repository.reload(both)
    assert repository.missing() == ["new"]
    assert repository.get("other").version == 5
    repository.reload(config_of(repository_root))
    assert served(repository) == 1


def test_the_folder_of_a_listed_model_may_vanish(repository, repository_root):
    repository.reload(config_of(repository_root))
    (repository_root / "toy").rename(repository_root / "gone")
    repository.poll()
    assert states(repository) == {1: "AVAILABLE"}  # an unreadable folder changes nothing
    assert served(repository) == 1


def test_the_folder_of_all_models_may_vanish(running, repository_root):
    repository_root.rename(repository_root.with_name("gone"))
    with pytest.raises(FileNotFoundError):
        running.repository.poll()
    assert post(running.rest_url, {"instances": ["a"]})[0] == 200


def test_the_last_good_version_serves_on_while_nothing_can_take_its_place(repository, repository_root, exports):
    shutil.copytree(exports / "2", repository_root / "toy" / "2")
    whole = truncate(repository_root / "toy" / "2")
    shutil.rmtree(repository_root / "toy" / "1")
    for _ in range(2):
        repository.poll()
        assert states(repository) == {2: "END", 1: "AVAILABLE"}
        assert served(repository) == 1
    (repository_root / "toy" / "2" / "saved_model.pb").write_bytes(whole)
    repository.poll()
    assert states(repository) == {2: "AVAILABLE", 1: "END"}
