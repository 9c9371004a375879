"""Public datasets by name, with a builder for generated examples instead of a download."""

import contextlib
import dataclasses
import functools

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from seqattn_tf.lite.fields import Image
from seqattn_tf.training import recipes
from seqattn_tf.training.data import files, from_text
from seqattn_tf.training.data import tfds as ours
from seqattn_tf.training.data.corpora import shakespeare, snli
from seqattn_tf.training.data.examples import group_targets


class MadeUpTranslate(tfds.core.GeneratorBasedBuilder):
    """Numbers in two languages, including an empty line."""

    VERSION = tfds.core.Version("1.0.0")
    BUILDER_CONFIGS = [tfds.core.BuilderConfig(name="de-en"), tfds.core.BuilderConfig(name="train-only")]

    def _info(self):
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.Translation(languages=("de", "en")))

    def _split_generators(self, dl_manager):
        names = ("train", "validation", "test") if self.builder_config.name == "de-en" else ("train",)
        return {name: self._generate_examples(name) for name in names}

    def _generate_examples(self, name):
        for i in range(300 if name == "train" else 3):
            yield i, {"de": f"{name} Zahl {i} ä", "en": f"number {i}" if i != 1 else " "}


class MadeUpInference(tfds.core.GeneratorBasedBuilder):
    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        features = {name: tfds.features.Text() for name in ("premise", "hypothesis")}
        features["label"] = tfds.features.ClassLabel(names=["entailment", "neutral", "contradiction"])
        features["id"] = tfds.features.Scalar(np.int32)
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

    def _split_generators(self, dl_manager):
        return {name: self._generate_examples(name) for name in ("train", "validation", "test")}

    def _generate_examples(self, name):
        for i, label in enumerate([0, 1, 2, -1]):
            yield i, {"premise": f"{name} premise", "hypothesis": f"hypothesis {label}", "label": label, "id": i}


class MadeUpPlays(tfds.core.GeneratorBasedBuilder):
    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict({"text": tfds.features.Text()}))

    def _split_generators(self, dl_manager):
        return {name: self._generate_examples(name) for name in ("train", "validation", "test")}

    def _generate_examples(self, name):
        yield name, {"text": name + " text\n\n"}


@pytest.fixture(autouse=True, scope="module")
def _own_folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("tfds")
        builder = tfds.builder
        patch.setattr(tfds, "builder", lambda name, data_dir=None: builder(name, data_dir=data_dir or folder))
        yield


@pytest.mark.usefixtures("bad_rows_allowed")
def test_translations_by_their_languages():
    splits = files.load("tfds:made_up_translate/de-en", {"text": "de"}, "en")
    assert len(splits.train) == 299
    for part, word in ((splits.dev, "validation"), (splits.test, "test")):
        expected = [from_text(f"{word} Zahl {i} ä", f"number {i}") for i in (0, 2)]
        assert sorted(part, key=lambda example: example.key) == expected
    names = ["made_up_translate/de-en " + part for part in ("train", "dev", "test")]
    assert splits.origin == ", ".join(names)
    assert splits.fingerprint == ours.load("made_up_translate/de-en", {"text": "de"}, "en").fingerprint


def test_parts_that_the_set_lacks_are_held_out(tmp_path):
    splits = ours.load("made_up_translate/train-only", {"text": "en"}, "de", data_dir=str(tmp_path))
    assert len(splits.train) + len(splits.dev) + len(splits.test) == 299
    assert "dev and test held out" in splits.origin
    assert (tmp_path / "made_up_translate").is_dir()


def test_classes_by_their_names():
    splits = snli.load("tfds:made_up_inference", "neutral")
    assert splits.train == [from_text("train premise", "hypothesis 1")]
    assert splits.origin.endswith("made_up_inference test, neutral")
    labels = sorted(label for [label] in ours.rows("made_up_inference", ["label"])["train"])
    assert labels == ["-", "contradiction", "entailment", "neutral"]  # "-" means unlabeled


def test_one_text():
    splits = shakespeare.characters("tfds:made_up_plays")
    whole = "".join(example.target for part in (splits.dev, splits.train, splits.test) for example in part)
    assert whole == "train text\n\nvalidation text\n\ntest text\n\n"


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        (
            "made_up_nothing",
            ["de"],
            r"data: expected the name of a data set in TensorFlow Datasets\. Received: 'made_up_nothing'",
        ),
        ("made_up_translate/xx", ["de"], r"Received: 'made_up_translate/xx'.*xx not found"),
        ("not a name!", ["de"], r"Received: 'not a name!'"),
        ("made_up_translate/de-en", ["fr"], r"expected a feature among \['de', 'en'\]\. Received: 'fr'"),
        ("made_up_inference", ["id"], r"id: expected a text or class feature\. Received: 0"),
    ],
)
def test_wrong_names_are_refused(name, columns, message):
    with pytest.raises(ValueError, match=message):
        ours.rows(name, columns)


# Pictures: TensorFlow Datasets' mocking returns the features of a real dataset with generated values.

COCO = ("train", "val", "test", "restval")


@contextlib.contextmanager
def mocked_coco(folder, monkeypatch, count=6):
    """Mock COCO as described by its class, with the splits of a prepared dataset."""
    info = tfds.builder("coco_captions", data_dir=folder).info
    names = tfds.core.ShardedFileTemplate(folder, dataset_name=info.name, filetype_suffix="tfrecord")
    alike = {"shard_lengths": [count], "num_bytes": 1, "filename_template": names}
    info.set_splits(tfds.core.splits.SplitDict([tfds.core.SplitInfo(name=part, **alike) for part in COCO]))
    where = folder / info.full_name
    where.mkdir(parents=True, exist_ok=True)
    info.write_to_directory(where)
    monkeypatch.setattr(tfds, "builder", functools.partial(tfds.core.load.builder, data_dir=folder))
    with tfds.testing.mock_data(
        as_dataset_fn=lambda self, **how: coco_examples(count, self, **how), data_dir=str(folder)
    ):
        yield
    monkeypatch.undo()


def coco_examples(count, builder, split, decoders, **_):
    """Return examples with the features of COCO: pictures as files, and generated captions, including an empty one."""
    assert isinstance(decoders["image"], tfds.decode.SkipDecoding)
    spec = builder.info.features.get_tensor_info()
    texts = [[f"{split} {number}, seen by {i}" if i < 4 else " " for i in range(5)] for number in range(count)]
    return tf.data.Dataset.from_tensor_slices(
        {
            "image": Image(4, 4).sample_inputs(count, seed=len(split)),
            "captions": {"id": np.ones([count, 5], spec["captions"]["id"].dtype.as_numpy_dtype), "text": texts},
        }
    )


def test_coco_is_read_from_a_tar_that_is_written_once(tmp_path, monkeypatch):
    recipe = recipes.get("caption")
    settings = dataclasses.replace(recipe.settings, caption_column="captions/text")
    with mocked_coco(tmp_path, monkeypatch):
        splits = recipe.load("tfds:coco_captions", settings)
    parts = {"train": splits.train, "dev": splits.dev, "test": splits.test}
    for name, part in parts.items():
        assert len({example.key for example in part}) > 1, name
        for example in part:
            assert Image(8, 8).arrays(example.inputs["image"])["pixels"].shape == (8, 8, 3)
            assert example.target.strip()
        assert {len(targets) for targets in group_targets(part).values()} == {4}
    keys = [{example.key for example in part} for part in parts.values()]
    assert len(set.union(*keys)) == sum(map(len, keys))
    assert splits.dev[0].target == "val 0, seen by 0"
    with mocked_coco(tmp_path, monkeypatch, count=2):
        assert recipe.load("tfds:coco_captions", settings).fingerprint == splits.fingerprint


@pytest.mark.parametrize(
    ("image", "caption", "message"),
    [
        ("picture", "captions/text", "expected a feature among .*'image'.* Received: 'picture'"),
        ("image", "caption", "expected a feature among .*'captions'.* Received: 'caption'"),
        ("image", "captions/said", "captions/said: expected a feature of the data set. Received: no feature 'said'"),
        ("image", "captions/id", "captions/id: expected a text feature"),
        ("image", "captions", "captions: expected a text feature"),
    ],
)
def test_a_set_without_such_pictures_is_refused_and_leaves_no_tar(tmp_path, monkeypatch, image, caption, message):
    with mocked_coco(tmp_path, monkeypatch), pytest.raises(ValueError, match=message):
        ours.load_pictures("coco_captions", image, caption)
    assert not list(tmp_path.rglob("*.tar"))
