"""Queries of a model with many examples."""

import dataclasses
from types import SimpleNamespace

import pytest

from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.training import recipes
from seqattn_tf.training.data import DataWarning, Example, Examples, Splits, from_text
from seqattn_tf.training.tasks import base


@pytest.mark.parametrize(
    ("sizes", "most", "expected"),
    [
        ([3, 1, 2], 2, [[1, 2], [3]]),
        ([0, 0, 0], 2, [[0, 0], [0]]),
        ([10] * 5, 9, [[10] * 5]),
        ([10] * 12, 99, [[10] * 10, [10] * 2]),  # at most a hundred characters per batch
        ([60, 30, 30, 30, 200], 99, [[30, 30, 30], [60], [200]]),
    ],
)
def test_long_texts_are_asked_in_small_batches(monkeypatch, sizes, most, expected):
    monkeypatch.setattr(base, "CHARACTERS", 100)
    asked = []

    def answer(rows):
        asked.append([len(row["text"]) for row in rows])
        return [Answer(row["text"].decode(), 0.0) for row in rows]

    model = SimpleNamespace(inputs={"text": Text(SymbolRules(("a",)))}, answer=answer)
    examples = [Example(str(key), {"text": "a" * size}, None) for key, size in enumerate(sizes)]
    found = base.answer_all(model, examples, most)
    assert asked == expected
    assert {key: len(answer.text) for key, answer in found.items()} == {str(k): size for k, size in enumerate(sizes)}


@pytest.mark.parametrize(
    ("text", "encoder"), [("a fine film", "BidirectionalEncoder"), ("fine\nfilm", "DocumentEncoder")]
)
def test_texts_of_one_line_are_classified_by_a_flat_encoder(text, encoder, capsys):
    """`train classify` must accept one-line texts, which are the content of most tables."""
    recipe = recipes.get("classify")
    settings = dataclasses.replace(recipe.small, units=4, embedding=4)
    examples = Examples([from_text(text, "good"), from_text("a bad film", "bad")])
    model = recipe.task.build(settings, examples)
    assert type(model.network.encoder).__name__ == encoder
    said = "every training text has a single line; using encoder=bidirectional instead of encoder=document"
    assert (said in capsys.readouterr().out) == ("\n" not in text)
    assert model.answer(["a film"])[0].text in ("good", "bad")


def test_texts_of_exactly_the_limit_are_learned_from():
    recipe = recipes.get("classify")
    settings = dataclasses.replace(recipe.small, units=4, embedding=4, max_source_length=3)
    train = [from_text(text, label) for text, label in (("a b c", "good"), ("a b c d", "bad"), ("a", "bad"))]
    with pytest.warns(
        DataWarning, match=r"1 of 3 training examples are too long.* text has up to 4 positions, the maximum is 3"
    ):
        training = recipe.task.open(settings, Splits(train, train[:1], train[2:], "here"))
    assert training.rows.tolist() == [0, 2]
