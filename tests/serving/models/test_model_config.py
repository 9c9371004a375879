import pytest
from google.protobuf import text_format

from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.models.model_config import VersionPolicy, folder_of_models, list_models, read_config_file
from seqattn_tf.serving.protos import ModelServerConfig


def parsed(text):
    return text_format.Parse(text, ModelServerConfig())


def entry(more="", name="a", path="/models/a", platform='model_platform: "tensorflow"'):
    return f'config {{ name: "{name}" base_path: "{path}" {platform} {more} }}'


def listed(*entries):
    return list_models(parsed(f"model_config_list {{ {' '.join(entries)} }}"))


@pytest.mark.parametrize(
    ("more", "policy"),
    [
        ("", VersionPolicy(latest=1)),
        ("model_version_policy { latest { num_versions: 3 } }", VersionPolicy(latest=3)),
        ("model_version_policy { all {} }", VersionPolicy(latest=0)),
        ("model_version_policy { specific { versions: 7 versions: 2 } }", VersionPolicy(specific=frozenset({2, 7}))),
    ],
)
def test_policies(more, policy):
    assert listed(entry(more))["a"].policy == policy


def test_what_a_policy_wants():
    there = [1, 5, 3]
    assert VersionPolicy().candidates(there) == VersionPolicy(latest=0).candidates(there) == [5, 3, 1]
    assert VersionPolicy(specific=frozenset({1, 3, 8})).candidates(there) == [3, 1]
    assert [VersionPolicy(latest=n).limit for n in (1, 2)] == [1, 2]
    assert VersionPolicy(latest=0).limit == VersionPolicy(specific=frozenset({1})).limit > 10**9


def test_labels_and_paths():
    model = listed(entry('version_labels { key: "stable" value: 4 }', path="file:///models/a"))["a"]
    assert model.labels == {"stable": 4}
    assert str(model.base_path) == "/models/a"
    assert listed(entry(platform="model_type: TENSORFLOW"))["a"].name == "a"
    assert listed() == {}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([entry(), entry()], "Illegal to list model a multiple times in config list"),
        ([entry(path="models/a")], r"Expected model a to have an absolute path or URI; got base_path\(\)=models/a"),
        ([entry(platform="")], r"Illegal setting neither ModelServerConfig::model_type \(deprecated\) nor"),
        ([entry(platform='model_platform: "other"')], "Model a requests unsupported platform other"),
        ([entry(name="")], "name: expected the name of a model"),
        ([entry("model_version_policy { specific {} }")], "specific: expected the versions of model a"),
    ],
)
def test_configs_that_cannot_be_served(entries, message):
    with pytest.raises(ServingError, match=message) as raised:
        listed(*entries)
    assert raised.value.code == "INVALID_ARGUMENT"


def test_a_custom_config_is_refused():
    with pytest.raises(ServingError, match="only legal to transition from one ModelConfigList to another"):
        list_models(parsed("custom_model_config {}"))


def test_a_config_file(tmp_path):
    path = tmp_path / "models.config"
    with pytest.raises(ValueError, match="model_config_file: expected a file with ModelServerConfig in text format"):
        read_config_file(path)
    path.write_text("# two models\nmodel_config_list { " + entry() + entry(name="b") + " }")
    assert sorted(list_models(read_config_file(path))) == ["a", "b"]
    path.write_text("model_config_list { what: 1 }")
    with pytest.raises(ValueError, match=r"1:21 .*what"):
        read_config_file(path)


def test_every_folder_is_a_model(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "file").touch()
    look = folder_of_models(tmp_path)
    assert list(look()) == ["b"]
    (tmp_path / "a").mkdir()
    assert list(look()) == ["a", "b"]
