"""Settings of entail, answer and transduce: what each does, and what is refused rather than passed over."""

import dataclasses

import pytest
from support.readers import parser as small_parser

from seqattn_tf.lite.answer import Answer
from seqattn_tf.models import load
from seqattn_tf.training import recipes, run
from seqattn_tf.training.data import Example, Examples, Splits
from seqattn_tf.training.tasks.answering import AnswerTask

PAIRS = [
    ("A dog runs.", "A dog moves.", "entailment"),
    ("A dog runs.", "A dog sleeps.", "contradiction"),
    ("A dog runs.", "A dog runs home.", "neutral"),
]
ENTAIL, ANSWER, TRANSDUCE, CLASSIFY = map(recipes.get, ("entail", "answer", "transduce", "classify"))


def write_table(folder, labels=("entailment", "contradiction", "neutral")):
    named = [(premise, hypothesis, label) for (premise, hypothesis, _), label in zip(PAIRS, labels, strict=True)]
    for part in ("train", "dev", "test"):
        rows = [("text", "claim", "verdict"), *((f"{a} {part}", b, c) for a, b, c in named)]
        (folder / f"{part}.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    return dataclasses.replace(ENTAIL.settings, premise="text", hypothesis="claim", target="verdict")


def write_snli(folder):
    for part in ("train", "dev", "test"):
        rows = "".join(f"{label}\t{premise} More {part}\t{hypothesis}\n" for premise, hypothesis, label in PAIRS)
        (folder / f"{part}.tsv").write_text(rows)


def test_a_folder_of_tables_is_read_by_its_columns(tmp_path):
    settings = write_table(tmp_path, ["yes", "no", "maybe"])
    splits = ENTAIL.load(tmp_path, settings)
    assert [example.target for example in splits.train] == ["yes", "no", "maybe"]
    assert splits.test[0].inputs == {"premise": "A dog runs. test", "hypothesis": "A dog moves."}


def test_more_pairs_stand_after_ones_own_and_have_the_same_labels(tmp_path, monkeypatch):
    own, more = tmp_path / "own", tmp_path / "more"
    own.mkdir()
    more.mkdir()
    write_snli(more)
    settings = dataclasses.replace(write_table(own), more=str(more), max_examples=4)
    splits = run.open_splits(ENTAIL, settings, own)
    assert splits.train[3].inputs["premise"] == "A dog runs. More train"
    assert splits.train[:3] == ENTAIL.load(own, dataclasses.replace(settings, more="")).train
    assert len(ENTAIL.load(own, settings).train) == 6
    monkeypatch.chdir(tmp_path)
    assert dataclasses.replace(settings, more="more").more == str(more.resolve())
    assert dataclasses.replace(settings, more="tfds:snli").more == "tfds:snli"
    write_table(own, ["yes", "no", "maybe"])
    with pytest.raises(ValueError, match=r"more: expected labels as those of SNLI\. Received: 'maybe' beside them"):
        ENTAIL.load(own, settings)


def examples():
    return Examples([Example(f"{a}\t{b}", {"premise": a, "hypothesis": b}, c) for a, b, c in PAIRS * 2])


@pytest.mark.slow
def test_a_parser_decides_what_words_and_heads_are(tmp_path):
    small_parser().save(tmp_path / "parser")
    settings = dataclasses.replace(ENTAIL.small, parser=str(tmp_path / "parser"), min_count=1)
    model = ENTAIL.task.build(settings, examples())
    assert model.network.encoder.name_in_registry == "parents"
    assert model.inputs["premise"].limit == 12  # of the parser
    [answer] = model.answer([{"premise": PAIRS[0][0], "hypothesis": PAIRS[0][1]}])
    assert list(answer.parts["premise_heads"]).count(0) == 1
    model.save(tmp_path / "run")
    [again] = load(tmp_path / "run").answer([{"premise": PAIRS[0][0], "hypothesis": PAIRS[0][1]}])
    assert (again.text, again.score) == (answer.text, pytest.approx(answer.score, abs=1e-5))
    for changed in ({"encoder": "bidirectional"}, {"heads": "softmax"}, {"split": "spaces"}):
        [name] = changed
        with pytest.raises(ValueError, match=f"{name}: expected none beside a parser"):
            ENTAIL.task.build(dataclasses.replace(settings, **changed), examples())
    small_parser(projective=False).save(tmp_path / "spanning")
    for other in (tmp_path / "spanning", "pronounce"):
        with pytest.raises(ValueError, match="parser: expected one of projective trees that reads words"):
            ENTAIL.task.build(dataclasses.replace(settings, parser=str(other)), examples())


def test_expressions_may_be_deep_and_their_encoder_flat():
    settings = dataclasses.replace(TRANSDUCE.small, deepest=5, examples=50)
    network = TRANSDUCE.task.build(settings, Examples(TRANSDUCE.load(None, settings).train)).network
    assert network.encoder.depth == 1
    with pytest.raises(ValueError, match=r"examples: expected at least 1\. Received: 0"):
        dataclasses.replace(settings, examples=0)


STORIES = Examples(
    [Example(f"{who}", {"story": f"Ann sat.\n{who} ran.", "question": "Who ran?"}, who) for who in ("Bob", "Zoe")]
)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"hops": 0}, r"hops: expected at least 1\. Received: 0"),
        ({"lines": 0}, r"lines: expected at least 1\. Received: 0"),
        ({"line_length": 0}, r"line_length: expected at least 1\. Received: 0"),
        ({"linear_steps": -1}, r"linear_steps: expected at least 0\. Received: -1"),
    ],
)
def test_what_a_memory_network_cannot_be(wrong, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(ANSWER.settings, **wrong)


def test_a_linear_start_ends_before_the_training_does():
    splits = Splits(list(STORIES), list(STORIES), list(STORIES), "made up")
    settings = dataclasses.replace(ANSWER.settings, epochs=3, linear_steps=3)
    with pytest.raises(ValueError, match=r"linear_steps: expected fewer than all 3\. Received: 3"):
        ANSWER.task.open(settings, splits)
    ANSWER.task.open(dataclasses.replace(settings, linear_steps=2), splits)


def test_facts_are_counted_where_there_are_as_many_as_looks():
    model = AnswerTask().build(dataclasses.replace(ANSWER.small, hops=2), STORIES)
    found = {
        key: Answer(key, 0.0, (), (key,), {}, {"facts": facts}) for key, facts in (("Bob", [2, 1]), ("Zoe", [2, 2]))
    }
    right = AnswerTask().judge(model, found, list(STORIES), {"Bob": "2 1", "Zoe": "2 1"})
    assert right.figures == {"accuracy": 1.0, "facts": 0.5}
    for other in ({"Bob": "2", "Zoe": "2"}, {"Bob": "2 1"}, {}):
        assert "facts" not in AnswerTask().judge(model, found, list(STORIES), other).figures


def test_a_classifier_over_soft_heads_tells_them():
    settings = dataclasses.replace(CLASSIFY.small, encoder="heads", min_count=1, units=4, embedding=4)
    train = Examples([Example(text, {"text": text}, label) for text, label in (("a good dog", "yes"), ("a cat", "no"))])
    model = CLASSIFY.task.build(settings, train)
    [answer] = model.answer(["a good cat"])
    assert set(answer.looks) == {"text", "text_heads"}
    assert answer.looks["text_heads"].weights.shape == (3, 3)
    assert len(answer.parts.get("text_heads", [0] * 3)) == 3
    assert model.explaining == ["text"]
