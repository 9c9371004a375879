"""Names in another script: letters without spaces; each split has its own names."""

from seqattn_tf.training.data import Splits, from_text
from seqattn_tf.training.recipes import transliterate


def test_targets_are_letters_without_spaces_and_stay_in_their_split(monkeypatch):
    parts = ("train", "dev", "test")
    splits = Splits(*([from_text(part, f"{part} x y")] for part in parts), "here")
    monkeypatch.setattr(transliterate, "load_pairs", lambda data, settings: splits)
    found = transliterate.load(None, transliterate.FULL)
    assert [found.train, found.dev, found.test] == [[from_text(part, f"{part}xy")] for part in parts]
