"""Public sets by name: a builder with generated examples stands for the ones that would be fetched."""

import numpy as np
import pytest
import tensorflow_datasets as tfds

from seqattn_tf.training.data import files, from_text, shakespeare, snli
from seqattn_tf.training.data import tfds as ours


class MadeUpTranslate(tfds.core.GeneratorBasedBuilder):
    """Numbers in two languages; an empty line among them."""

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


def test_one_text():
    splits = shakespeare.characters("tfds:made_up_plays")
    whole = "".join(example.target for part in (splits.dev, splits.train, splits.test) for example in part)
    assert whole == "train text\n\nvalidation text\n\ntest text\n\n"


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        ("made_up_nothing", ["de"], r"data: expected a set of TensorFlow Datasets\. Received: 'made_up_nothing'"),
        ("made_up_translate/xx", ["de"], r"Received: 'made_up_translate/xx'.*xx not found"),
        ("not a name!", ["de"], r"Received: 'not a name!'"),
        ("made_up_translate/de-en", ["fr"], r"expected a feature among \['de', 'en'\]\. Received: 'fr'"),
        ("made_up_inference", ["id"], r"id: expected a feature of text or classes\. Received: 0"),
    ],
)
def test_wrong_names_are_refused(name, columns, message):
    with pytest.raises(ValueError, match=message):
        ours.rows(name, columns)
