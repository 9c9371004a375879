"""Settings of entail, answer and transduce: their effects, and errors for those that would have none."""

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
    return dataclasses.replace(
        ENTAIL.settings, premise_column="text", hypothesis_column="claim", target_column="verdict"
    )


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
    settings = dataclasses.replace(write_table(own), extra_data=str(more), max_examples=4)
    splits = run.open_splits(ENTAIL, settings, own)
    assert splits.train[3].inputs["premise"] == "A dog runs. More train"
    assert splits.train[:3] == ENTAIL.load(own, dataclasses.replace(settings, extra_data="")).train
    assert len(ENTAIL.load(own, settings).train) == 6
    monkeypatch.chdir(tmp_path)
    assert dataclasses.replace(settings, extra_data="more").extra_data == str(more.resolve())
    assert dataclasses.replace(settings, extra_data="tfds:snli").extra_data == "tfds:snli"
    write_table(own, ["yes", "no", "maybe"])
    with pytest.raises(
        ValueError, match=r"extra_data: expected only the labels of SNLI in the training data\. Received: 'maybe'"
    ):
        ENTAIL.load(own, settings)


def examples():
    return Examples([Example(f"{a}\t{b}", {"premise": a, "hypothesis": b}, c) for a, b, c in PAIRS * 2])


@pytest.mark.slow
def test_a_parser_decides_what_words_and_heads_are(tmp_path):
    small_parser().save(tmp_path / "parser")
    settings = dataclasses.replace(ENTAIL.small, parser=str(tmp_path / "parser"), min_count=1)
    model = ENTAIL.task.build(settings, examples())
    assert model.network.encoder.name_in_registry == "parents"
    assert model.inputs["premise"].limit == 12  # the limit of the parser
    [answer] = model.answer([{"premise": PAIRS[0][0], "hypothesis": PAIRS[0][1]}])
    assert list(answer.extra["premise_heads"]).count(0) == 1
    model.save(tmp_path / "run")
    [again] = load(tmp_path / "run").answer([{"premise": PAIRS[0][0], "hypothesis": PAIRS[0][1]}])
    assert (again.text, again.score) == (answer.text, pytest.approx(answer.score, abs=1e-5))
    small_parser(projective=False).save(tmp_path / "spanning")
    with pytest.raises(ValueError, match="parser: expected a projective parser with encoder=words"):
        ENTAIL.task.build(dataclasses.replace(settings, parser=str(tmp_path / "spanning")), examples())


def test_what_a_parser_determines_is_not_set():
    """Catches a check of a setting that `entail` does not have, which refuses every parser."""
    settings = dataclasses.replace(ENTAIL.small, parser="pronounce", min_count=1)
    for changed in ({"encoder": "bidirectional"}, {"head_attention": "softmax"}, {"tokenizer": "spaces"}):
        [name] = changed
        with pytest.raises(ValueError, match=f"{name}: expected the default, because the parser determines it"):
            ENTAIL.task.build(dataclasses.replace(settings, **changed), examples())
    with pytest.raises(
        ValueError, match=r"parser: expected a projective parser with encoder=words\. Received: pronounce"
    ):
        ENTAIL.task.build(settings, examples())


def test_expressions_may_be_deep_and_their_encoder_flat():
    settings = dataclasses.replace(TRANSDUCE.small, max_depth=5, num_examples=50)
    network = TRANSDUCE.task.build(settings, Examples(TRANSDUCE.load(None, settings).train)).network
    assert network.encoder.depth == 1
    with pytest.raises(ValueError, match=r"num_examples: expected at least 1\. Received: 0"):
        dataclasses.replace(settings, num_examples=0)


STORIES = Examples(
    [Example(f"{who}", {"story": f"Ann sat.\n{who} ran.", "question": "Who ran?"}, who) for who in ("Bob", "Zoe")]
)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"hops": 0}, r"hops: expected at least 1\. Received: 0"),
        ({"max_lines": 0}, r"lines: expected at least 1\. Received: 0"),
        ({"max_line_length": 0}, r"max_line_length: expected at least 1\. Received: 0"),
        ({"linear_start_steps": -1}, r"linear_start_steps: expected at least 0\. Received: -1"),
    ],
)
def test_what_a_memory_network_cannot_be(wrong, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(ANSWER.settings, **wrong)


def test_a_linear_start_ends_before_the_training_does():
    splits = Splits(list(STORIES), list(STORIES), list(STORIES), "made up")
    settings = dataclasses.replace(ANSWER.settings, epochs=3, linear_start_steps=3)
    with pytest.raises(ValueError, match=r"linear_start_steps: expected fewer than the 3 training steps\. Received: 3"):
        ANSWER.task.open(settings, splits)
    ANSWER.task.open(dataclasses.replace(settings, linear_start_steps=2), splits)


def test_facts_are_counted_where_there_are_as_many_as_looks():
    model = AnswerTask().build(dataclasses.replace(ANSWER.small, hops=2), STORIES)
    found = {
        key: Answer(key, 0.0, (), (key,), {}, {"facts": facts}) for key, facts in (("Bob", [2, 1]), ("Zoe", [2, 2]))
    }
    right = AnswerTask().evaluate(model, found, list(STORIES), {"Bob": "2 1", "Zoe": "2 1"})
    assert right.metrics == {"accuracy": 1.0, "facts": 0.5}
    for other in ({"Bob": "2", "Zoe": "2"}, {"Bob": "2 1"}, {}):
        assert "facts" not in AnswerTask().evaluate(model, found, list(STORIES), other).metrics


def test_a_classifier_over_soft_heads_tells_them():
    settings = dataclasses.replace(CLASSIFY.small, encoder="heads", min_count=1, units=4, embedding=4)
    train = Examples([Example(text, {"text": text}, label) for text, label in (("a good dog", "yes"), ("a cat", "no"))])
    model = CLASSIFY.task.build(settings, train)
    [answer] = model.answer(["a good cat"])
    assert set(answer.attention) == {"text", "text_heads"}
    assert answer.attention["text_heads"].weights.shape == (3, 3)
    assert len(answer.extra.get("text_heads", [0] * 3)) == 3
    assert model.explanatory_maps == ["text"]
