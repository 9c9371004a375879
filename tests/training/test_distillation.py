"""Students trained by teachers, and the storage of soft targets."""

import dataclasses
import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from support import corpora
from support.reverse import RECIPE, SETTINGS, language
from support.step_by_step import answering_eagerly, untraced
from support.systems import language_model, text_classifier, text_network
from support.varied import LETTERS, SOUNDS, TEXTS, varied

from seqattn_tf import cli
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.lite.targets.base import save_target
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import Ensemble, LanguageNetwork, Seq2Seq, load
from seqattn_tf.models.base import read_config
from seqattn_tf.training import run
from seqattn_tf.training import soft_targets as lessons_module
from seqattn_tf.training.data import Example, from_text
from seqattn_tf.training.soft_targets import Teacher, read_soft_targets, write_soft_targets

pytestmark = pytest.mark.usefixtures("eagerly")

GREEDY = ["beam_width=1", "alternatives=0", "max_target_length=5"]
TINY = ["units=8", "embedding=6", "epochs=1", "batch_size=64", "warmup_steps=2", "max_examples=64"]


def settings(*more):
    return [part for one in (*TINY, *more) for part in ("--set", one)]


def teach(folder, model, train, made_up=(), top=2, **about):
    teacher = Teacher(model, top)
    write_soft_targets(
        folder, teacher, train, lambda: made_up, {"target": save_target(model.target), **about}, quiet=True
    )
    return read_soft_targets(folder, train)


def words(*texts):
    return [Example(text, {"text": text}, None) for text in texts]


def test_lessons_are_the_answers_and_the_greatest_probabilities(reversing, tmp_path):
    texts = ["abcd", "b", "dca", "ab"]  # not in the order of their lengths
    found = teach(tmp_path, reversing, words(*texts[:2]), [{"text": text} for text in texts[2:]])
    assert (found.keys, found.synthetic) == (["abcd", "b"], [{"text": "dca"}, {"text": "ab"}])
    rules, starts = reversing.target.rules, np.cumsum([0, *found.lengths])
    places = starts + np.arange(len(starts))
    for number, answer in enumerate(reversing.answer(texts)):
        ids = found.answers[starts[number] : starts[number + 1]]
        assert rules.names(ids) == list(answer.tokens)
        shares = found.shares[places[number] : places[number + 1]].astype("float32")
        assert len(shares) == len(ids) + 1
        assert np.log(shares[:, 0]).sum() == pytest.approx(answer.score, abs=0.01)
        assert found.numbers[places[number] : places[number + 1], 0].tolist() == [*ids, 2]
        assert np.all(shares[:, 0] >= shares[:, 1])


def test_words_with_separators_of_lines_that_are_no_line_ends(reversing, tmp_path):
    """A U+2028 or U+0085 in a synthetic word must not break reading the folder again."""
    made_up = [{"text": f"a{separator}b"} for separator in "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"]
    found = teach(tmp_path, reversing, words("abcd"), [*made_up, {"text": "b"}])
    assert lessons_module._read_synthetic(tmp_path) == [*made_up, {"text": "b"}]
    assert {"text": "b"} in found.synthetic


def test_what_is_said_from_its_end_is_taught_from_its_end(tmp_path):
    target = Symbols(SOUNDS, 5, direction="right_to_left")
    model = Seq2Seq(varied(), {"text": Text(LETTERS)}, target, max_length_ratio=0)
    texts = TEXTS[1:]
    found = teach(tmp_path, model, words(*texts), top=SOUNDS.size)
    answers = model.answer(texts)
    assert any(answer.tokens != answer.tokens[::-1] for answer in answers)
    starts = np.cumsum([0, *found.lengths])
    for number, answer in enumerate(answers):
        ids = found.answers[starts[number] : starts[number + 1]].tolist()
        assert SOUNDS.names(ids[::-1]) == list(answer.tokens)
        said = [*ids, *([2] if len(ids) < 5 else [])]  # the end, unless the answer was cut
        first = starts[number] + number
        each = zip(said, found.numbers[first:], found.shares[first:].astype("float64"), strict=False)
        given = [shares[list(numbers).index(one)] for one, numbers, shares in each]
        assert np.log(given).sum() == pytest.approx(answer.score, abs=5e-3)


def test_a_student_is_given_what_its_teacher_said(reversing, tmp_path):
    """The rows of the data are followed by those of the soft targets: the teacher's answer with its probabilities."""
    few = dataclasses.replace(language(), train=language().train[:5])
    taught = teach(tmp_path / "soft_targets", reversing, few.train, [{"text": "dca"}], top=3)
    training = RECIPE.task.open(SETTINGS, few, fresh(reversing), taught)
    assert len(training.rows) == 5 + len({example.key for example in few.train}) + 1
    inputs, right = training.columns.batch(tf.constant([int(training.rows[-1])]))
    assert reversing.inputs["text"].rules.names(inputs["text_ids"].numpy()[0])[:3] == ["d", "c", "a"]
    assert reversing.target.rules.names(inputs["shifted"].numpy()[0][1:]) == ["A", "C", "D"]
    numbers, shares = np.split(right.numpy()[0], 2, axis=-1)
    np.testing.assert_array_equal(numbers, taught.numbers[-4:])
    np.testing.assert_array_equal(shares, taught.shares[-4:].astype("float32"))
    size = reversing.target.rules.size
    like_it = np.log(np.einsum("tn,tnk->tk", shares, np.eye(size)[numbers.astype(int)]) + 1e-3)[None]
    assert float(training.loss(right, like_it)) < 0.2 * float(training.loss(right, np.zeros_like(like_it)))


@pytest.mark.slow
def test_a_student_learns_from_lessons_what_few_examples_do_not_tell(reversing, tmp_path):
    few = dataclasses.replace(language(), train=language().train[:12])
    recipe = dataclasses.replace(RECIPE, load=lambda *_: few)
    chosen = dataclasses.replace(SETTINGS, epochs=12)
    rows = [{"text": word} for word in dict.fromkeys(example.key for example in language().train)]
    taught = teach(tmp_path / "soft_targets", reversing, few.train, rows)
    training = recipe.task.open(chosen, few, fresh(reversing), taught)
    assert len(training.rows) == len(few.train) + len({e.key for e in few.train}) + len(rows)
    run.compile_network(training)
    training.model.network.fit(training.batches(), epochs=12, steps_per_epoch=training.steps, verbose=0)
    plain = recipe.task.open(chosen, few, fresh(reversing))
    run.compile_network(plain)
    plain.model.network.fit(plain.batches(), epochs=12, steps_per_epoch=plain.steps, verbose=0)
    figures = (recipe.task.measure(one.model, few.test).metrics for one in (training, plain))
    taught_errors, own_errors = (one["symbol_error_rate"] for one in figures)
    assert taught_errors < 0.1
    assert own_errors > 0.3


def fresh(model):
    """Return the same model before training."""
    network = type(model.network).from_config(model.network.get_config())
    keras.utils.set_random_seed(3)
    network.build()
    return type(model)(network, model.inputs, model.target, **model.settings)


def test_after_an_end_only_what_is_missing_is_asked_again(reversing, tmp_path, monkeypatch):
    monkeypatch.setattr(lessons_module, "PART", 5)
    train, rows = words("a", "b", "ab", "ba"), [{"text": text} for text in ("abc", "cab", "dd", "dcb")]
    first = teach(tmp_path, reversing, train, rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "00000.npz",
        "00001.npz",
        "about.json",
        "synthetic.jsonl",
    ]
    (tmp_path / "00001.npz").unlink()
    asked = []
    usual = Teacher.teach
    monkeypatch.setattr(Teacher, "teach", lambda self, some: asked.append(list(some)) or usual(self, some))
    again = teach(tmp_path, reversing, train, [{"text": "never asked for"}])
    assert [[example.inputs["text"] for example in some] for some in asked] == [["cab", "dd", "dcb"]]
    assert again.fingerprint == first.fingerprint
    with pytest.raises(
        ValueError,
        match=r"contains other soft targets \(stored, given\): \{'limit': \(None, 5\)\}. Choose another --run",
    ):
        teach(tmp_path, reversing, train, rows, limit=5)


def test_damaged_and_missing_parts_are_named(reversing, tmp_path):
    teach(tmp_path, reversing, words("a", "b"))
    path = tmp_path / "00000.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    with pytest.raises(
        ValueError, match=r"00000.npz: expected a complete part of soft targets; remove it to create it again"
    ):
        read_soft_targets(tmp_path, words("a", "b"))
    path.write_bytes(whole)
    with pytest.raises(ValueError, match=r"expected soft targets for 3 inputs. Received: 2"):
        read_soft_targets(tmp_path, words("a", "b", "c"))


def test_improbable_answers_to_what_was_made_up_are_left_out(reversing, tmp_path):
    teach(tmp_path, reversing, words("ab", "dcba"), [{"text": text} for text in ("abcd", "b", "")])
    scores = [answer.score for answer in reversing.answer(["abcd", "b"])]
    between = sum(scores) / 2
    kept = read_soft_targets(tmp_path, words("ab", "dcba"), between)
    best = "abcd" if scores[0] > scores[1] else "b"
    assert kept.keys == ["ab", "dcba"]
    assert kept.synthetic == [{"text": best}]  # an empty input has no answer
    assert len(kept.numbers) == kept.lengths.sum() + 3
    assert len(kept.answers) == kept.lengths.sum()
    every = read_soft_targets(tmp_path, words("ab", "dcba"))
    assert every.synthetic == [{"text": "abcd"}, {"text": "b"}]
    assert kept.fingerprint != every.fingerprint
    assert [example.inputs["text"] for example in kept.examples([from_text("ab", "x"), from_text("dcba", "y")])] == [
        *kept.keys,
        best,
    ]


def test_lessons_of_another_vocabulary_are_refused(reversing, tmp_path):
    found = teach(tmp_path, reversing, words("a"))
    other = dataclasses.replace(found, target={"target": "symbols", "config": {}})
    with pytest.raises(ValueError, match=r"target: expected the vocabulary of the teachers"):
        RECIPE.task.open(SETTINGS, language(), reversing, other)


@pytest.fixture(scope="module")
def spelled(tmp_path_factory):
    """A folder with words to pronounce, and two runs on them."""
    folder = tmp_path_factory.mktemp("spelled")
    (folder / "data").mkdir()
    corpora.pronounce(folder / "data")
    command = ["train", "pronounce", "--data", f"{folder}/data", "--run", f"{folder}/teacher-0"]
    with answering_eagerly(), untraced():
        assert cli.main([*command, *settings("units=12", *GREEDY)]) == 0
    other = load(folder / "teacher-0")  # any other run would do
    other.network.set_weights([weight[..., ::-1] for weight in other.network.get_weights()])
    other.save(folder / "teacher-1", read_config(folder / "teacher-0")["record"])
    return folder


def distill(folder, run_folder, *more):
    teachers = [part for seed in (0, 1) for part in ("--teacher", f"{folder}/teacher-{seed}")]
    command = ["distill", "pronounce", *teachers, "--data", f"{folder}/data", "--run", str(run_folder)]
    return cli.main([*command, *settings(*GREEDY), *more])


def test_a_student_of_two_runs(spelled, tmp_path, capsys):
    assert distill(spelled, tmp_path, "--synthetic", "8", "--min-log-prob", "-1000") == 0
    out = capsys.readouterr().out
    assert "training examples, 8 of 8 synthetic inputs" in out
    assert "best model saved in" in out
    record = read_config(tmp_path)["record"]
    assert record["soft_targets"].endswith("from -1000")
    assert record["settings"]["units"] == 8
    about = json.loads((tmp_path / "soft_targets/about.json").read_text())
    assert (about["synthetic"], about["top_k"], len(about["teachers"])) == (8, 3, 2)
    assert about["data"] == record["fingerprint"]
    together = Ensemble.of([load(spelled / f"teacher-{seed}") for seed in (0, 1)])
    asked = [json.loads(line) for line in (tmp_path / "soft_targets/synthetic.jsonl").read_text().splitlines()]
    with np.load(tmp_path / "soft_targets/00000.npz") as part:
        said = [answer.score for answer in together.answer(asked)]
        np.testing.assert_allclose(part["scores"][-len(asked) :], said, rtol=1e-4)
    capsys.readouterr()
    # finished: there is nothing left to do
    assert distill(spelled, tmp_path, "--synthetic", "8", "--min-log-prob", "-1000") == 0
    assert distill(spelled, tmp_path, "--synthetic", "9") == 2
    assert "contains other soft targets (stored, given): {'synthetic': (8, 9)}" in capsys.readouterr().err
    assert cli.main(["evaluate", str(tmp_path)]) == 0
    assert (
        cli.main(["train", "pronounce", "--data", f"{spelled}/data", "--run", str(tmp_path), *settings(*GREEDY)]) == 2
    )
    assert "{'soft_targets': (" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--synthetic", "-1"], "synthetic: expected at least 0. Received: -1"),
        (["--top-k", "0"], "top: expected at least 1. Received: 0"),
    ],
)
def test_what_cannot_be_taught_is_said(spelled, tmp_path, capsys, change, said):
    assert distill(spelled, tmp_path, *change) == 2
    assert said in capsys.readouterr().err


def test_teachers_of_something_else_are_refused(spelled, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    corpora.transliterate(tmp_path / "data")
    (tmp_path / "more").mkdir()
    corpora.pronounce(tmp_path / "more")
    with (tmp_path / "more/train.dict").open("a") as file:
        file.write("ZZ  Z Z\n")
    other = ["distill", "pronounce", "--data", f"{tmp_path}/more", "--run", str(tmp_path / "run")]
    assert cli.main([*other, "--teacher", f"{spelled}/teacher-0"]) == 2
    assert "teacher: expected the fingerprint" in capsys.readouterr().err
    command = ["distill", "transliterate", "--data", f"{tmp_path}/data", "--run", str(tmp_path / "run")]
    assert cli.main([*command, "--teacher", f"{spelled}/teacher-0"]) == 2
    assert "teacher: expected the recipe 'transliterate'. Received: 'pronounce'" in capsys.readouterr().err
    assert cli.main(command) == 2
    assert "teacher: expected at least one run. Received: none" in capsys.readouterr().err


def test_labels_are_taught(tmp_path, capsys):
    rows = [f"{word} {number},{word}" for number in range(40) for word in ("good", "bad", "so")]
    (tmp_path / "own.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    common = [
        "--data",
        str(tmp_path / "own.csv"),
        *settings("text_column=text", "target_column=label", "encoder=forward"),
    ]
    assert cli.main(["train", "classify", "--run", str(tmp_path / "t"), *common]) == 0
    teach = ["distill", "classify", "--teacher", str(tmp_path / "t"), "--run", str(tmp_path / "s")]
    assert cli.main([*teach, *common, "--synthetic", "5"]) == 2
    assert "synthetic: expected 0, because classify cannot generate inputs. Received: 5" in capsys.readouterr().err
    assert cli.main([*teach, *common]) == 0
    with np.load(tmp_path / "s/soft_targets/00000.npz") as part:
        assert set(part["lengths"]) == {1}
        np.testing.assert_allclose(part["shares"].astype("float32").sum(axis=1), 1, atol=2e-3)  # three labels
    assert load(tmp_path / "s").answer(["good 3"])[0].text in ("good", "bad", "so")


def test_what_is_neither_symbols_nor_a_label_is_refused():
    rules = SymbolRules(("a", "b"))
    for model, said in (
        (text_classifier(text_network(rules.size, outputs=1, units=4), rules), "classifier with the target number"),
        (language_model(LanguageNetwork(rules.size, units=4), rules), "language_model with the target symbols"),
    ):
        expected = f"teacher: expected a model that predicts tokens or a label. Received: {said}"
        with pytest.raises(ValueError, match=expected):
            Teacher(model)
