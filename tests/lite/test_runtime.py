"""What LiteModel makes of the tensors of a file; files themselves are tried with the exports."""

import numpy as np

from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.runtime import LiteModel, _infinite
from seqattn_tf.lite.text import SymbolRules


def test_a_map_within_a_text_has_the_words_of_the_text_as_keys():
    """Catches a map whose name is not that of the input it attends to."""
    model = LiteModel.__new__(LiteModel)
    model.inputs = {"text": Text(SymbolRules(("a", "dog"), tokenizer="spaces"))}
    model.manifest = {"attention_sources": {"parents": "text"}}
    found = model._attention_map("parents", "text", np.eye(4, dtype="float32"), {"text": "a dog"}, ())
    assert (found.queries, found.keys, found.weights.tolist()) == (("a", "dog"), ("a", "dog"), [[1, 0], [0, 1]])


def test_infinities_of_either_sign_are_restored():
    """Catches a score of a position that must not be chosen that stays a finite number."""
    largest = np.finfo(np.float32).max
    assert _infinite(np.float32([1, -largest])).tolist() == [1, -np.inf]
    assert _infinite(np.float32([largest, 1])).tolist() == [np.inf, 1]
    for array in (np.float32([1, -2]), np.float32([]), np.int32([2**31 - 1])):
        assert _infinite(array) is array
