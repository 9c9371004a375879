"""How a model is asked about many examples."""

from types import SimpleNamespace

import pytest

from seqattn_tf.answer import Answer
from seqattn_tf.fields import Text
from seqattn_tf.text import SymbolRules
from seqattn_tf.training.data import Example
from seqattn_tf.training.tasks import base


@pytest.mark.parametrize(
    ("sizes", "most", "expected"),
    [
        ([3, 1, 2], 2, [[1, 2], [3]]),
        ([0, 0, 0], 2, [[0, 0], [0]]),
        ([10] * 5, 9, [[10] * 5]),
        ([10] * 12, 99, [[10] * 10, [10] * 2]),  # a hundred characters at most
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
