"""The contract of models, tested with a small tagger and parser: parts, gaps, names, invalid folders, threads."""

import concurrent.futures
import json
import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.export.comparison import difference, rows_to_verify
from seqattn_tf.export.describe import describe
from seqattn_tf.export.forms.lite import Lite
from seqattn_tf.export.package import export_model
from seqattn_tf.lite.fields import Lines, Text
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.lite.targets import Heads, Tags
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import Model, load
from seqattn_tf.models.base import only_where

pytestmark = pytest.mark.traced
WORDS = SymbolRules(("a", "b", "c"), "spaces")


@keras.saving.register_keras_serializable("contract")
class Each(keras.Model):
    """Returns logits for each word, or for each pair of words."""

    def __init__(self, vocabulary, outputs=0, **kwargs):
        super().__init__(**kwargs)
        self.vocabulary, self.outputs = vocabulary, outputs
        self.embedding = keras.layers.Embedding(vocabulary, outputs or 4)

    def build(self, input_shape=None):
        self.embedding.build((None, None))
        self.built = True

    def call(self, tensors, training=False):
        words = self.embedding(tensors["text_ids"])
        if self.outputs:
            return words
        root = tf.reduce_sum(words, axis=-1, keepdims=True)
        return tf.concat([root, 20 * tf.matmul(words, words, transpose_b=True)], axis=-1)

    def get_config(self):
        return {**super().get_config(), "vocabulary": self.vocabulary, "outputs": self.outputs}


class Tagger(Model):
    name_in_registry = "contract_tagger"
    extra_outputs = {"marginals": ("text", "")}

    def infer(self, tensors):
        logits, mask = self.network(tensors), tensors["text_ids"] != 0
        found = {**self.graph_target.decode(logits, mask), "marginals": tf.nn.softmax(logits)}
        return only_where(tf.reduce_any(mask, axis=1), found)


class Parser(Model):
    name_in_registry = "contract_parser"
    extra_outputs = {"arcs": ("text", "text")}
    attention_maps = {"text": ("first look", "second look")}

    def infer(self, tensors):
        logits, mask = self.network(tensors), tensors["text_ids"] != 0
        heads = tf.pad(tf.cast(mask, tf.int32), [[0, 0], [1, 0]], constant_values=1) == 1
        arcs = tf.nn.softmax(tf.where(heads[:, None], logits, -1e9))[..., 1:] * tf.cast(mask, tf.float32)[..., None]
        found = {**self.graph_target.decode(logits, mask), "arcs": arcs}
        found["text_attention"] = tf.pad(arcs, [[0, 0], [0, 2], [0, 0]])[:, :2]
        return only_where(tf.reduce_any(mask, axis=1), found)


def tagger(**inputs):
    keras.utils.set_random_seed(4)
    return Tagger(Each(WORDS.size, 2), inputs or {"text": Text(WORDS, 6)}, Tags(("D", "N")))


def parser():
    keras.utils.set_random_seed(4)
    return Parser(Each(WORDS.size), {"text": Text(WORDS, 6)}, Heads())


@pytest.mark.parametrize("make", [tagger, parser])
def test_parts_and_gaps_are_the_same_alone_in_a_batch_saved_exported_and_on_the_edge(make, tmp_path):
    model, texts = make(), ["a b", "a b c a", "a ? b ?", "c", "", "?"]
    together = model.answer(texts)
    model.save(tmp_path / "run")
    exported = export_model(model, tmp_path / "models/m", {})
    assert set(exported.agreeing.values()) == {exported.rows}
    edge = LiteModel(exported.lite).answer(texts)
    saved = load(tmp_path / "run").answer(texts)
    for text, answer, *others in zip(texts, together, saved, edge, strict=True):
        [alone] = model.answer([text])
        for other in (alone, *others):
            assert difference(answer, other, 1e-4) == ""
        [name] = model.extra_outputs
        places = len(text.split())
        assert answer.extra[name].shape[0] == places
        assert len(answer.tokens) == len(text.rstrip(" ?").split())
    gap = together[2]
    assert gap.tokens[1] == "_"
    assert gap.text == " ".join(gap.tokens)
    assert (together[4].text, together[4].score) == ("", -np.inf)


def test_what_infer_finds_is_what_was_declared(monkeypatch):
    model = tagger()
    for change in ({"more": tf.zeros([1])}, {"text_attention": tf.zeros([1, 1, 1])}, {"text": tf.zeros([1])}):
        monkeypatch.setattr(model, "infer", lambda tensors, change=change: {**Tagger.infer(model, tensors), **change})
        with pytest.raises(ValueError, match="infer: expected the outputs scores, tags, marginals"):
            model.serve(text=tf.constant(["a"]))


@pytest.mark.parametrize("name", ["tokens", "_x", "my story", "", "1st"])
def test_names_that_cannot_be_told_apart_are_refused(name):
    with pytest.raises(ValueError, match="inputs: expected names of letters, digits and _"):
        tagger(**{name: Text(WORDS)})


def test_a_name_like_a_level_of_another_is_refused():
    lines = Lines(SymbolRules(("a", "\n"), "spaces"))
    with pytest.raises(ValueError, match=r"inputs: expected unique names of inputs and their levels.*text_lines"):
        tagger(text=lines, text_lines=Text(WORDS)).answer([{"text": "a", "text_lines": "a"}])


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("[]", "expected a JSON object with the key 'system'"),
        ('{"format": 1, "system": "contract_tagger"}', "expected settings for the system"),
        (
            '{"format": 1, "system": "contract_tagger", "settings": {"beam_width": 3}}',
            "expected settings that match its system",
        ),
        ('{"format": 1, "system": "nobody", "settings": {}}', r"model: expected one of .* Received: .nobody."),
        (
            '{"system": "contract_tagger", "settings": {}}',
            r"expected format 1\. Received: 0; convert it with python -m seqattn_tf\.convert",
        ),
        ('{"format": 2, "system": "x"}', r"expected format 1\. Received: 2; install a newer seqattn-tf"),
    ],
)
def test_a_bad_folder_is_told(tmp_path, config, words):
    tagger().save(tmp_path)
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(ValueError, match=words):
        load(tmp_path)


@pytest.mark.parametrize("file", ["inputs.json", "target.json"])
def test_a_bad_asset_is_told(tmp_path, file):
    tagger().save(tmp_path)
    for content in ("{", "[1]", json.dumps([{"name": "x", "field": "smell", "config": {}}])):
        (tmp_path / "assets" / file).write_text(content)
        with pytest.raises(ValueError, match=r"expected complete inputs\.json and target\.json"):
            load(tmp_path)


def test_bad_examples_in_a_record_do_not_stop_an_export():
    record = {"examples": ["a", {"text": 5}, {"text": {"b64": "!"}}, {"other": "a"}, None, {"text": "a b"}]}
    assert rows_to_verify(tagger().inputs, record, 100)[105:] == [{"text": "a b"}]
    assert len(rows_to_verify(tagger().inputs, {"examples": 3}, 100)) == 105


def test_the_edge_answers_in_threads(tmp_path):
    Lite().write(tagger(), tmp_path, describe(tagger(), {}))
    edge = LiteModel(tmp_path)
    texts = ["a b", "c", "b b b a", "a c a"]
    expected = {text: edge.answer([text])[0].text for text in texts}
    start = threading.Barrier(4)

    def ask(text):
        start.wait()
        return {edge.answer([text])[0].text for _ in range(100)}

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for text, said in zip(texts, pool.map(ask, texts), strict=True):
            assert said == {expected[text]}
