"""Tiny Shakespeare: 1.1 million characters of plays, to be written on character by character, or as a dialogue.

Both are split by position: the last tenth is the test split; before it is development, half a tenth of the characters
and a tenth of the speeches.
"""

from collections.abc import Sequence
from pathlib import Path

from seqattn_tf.training.data.files import existing_text, public_name, read_text
from seqattn_tf.training.data.pairs import TURN, Pair, Splits

WANTED = "one text of plays, such as tiny Shakespeare's input.txt (or --data tfds:tiny_shakespeare),"


def _text(data: str | Path | None) -> tuple[str, str]:
    """The whole text and its name."""
    if name := public_name(data):
        from seqattn_tf.training.data import tfds

        parts = tfds.rows(name, ["text"])
        return "".join(text for part in ("train", "dev", "test") for (text,) in parts.get(part, ())), name
    path = existing_text(data, WANTED)
    return read_text(path), path.name


def _cut(items: Sequence, least: int, what: str, dev: float) -> list[Sequence]:
    """What comes first, the given share before the last tenth, and the last tenth."""
    if len(items) < least:
        raise ValueError(f"{what}: expected at least {least}. Received: {len(items)}")
    second = len(items) * 9 // 10
    first = second - int(len(items) * dev)
    return [items[:first], items[first:second], items[second:]]


def characters(data: str | Path | None, length: int = 0) -> Splits:
    """The text itself as targets without a source: each split whole, or in pieces of `length` characters."""
    text, name = _text(data)
    parts = [
        [Pair("", part[i : i + length]) for i in range(0, len(part), length)] if length else [Pair("", part)]
        for part in _cut(text, 20, f"characters of {name}", dev=0.05)
    ]
    return Splits(*parts, f"{name} (by position: 85 % train, 5 % dev, the last 10 % test)")


def speeches(text: str) -> list[str]:
    r"""What is spoken, speech by speech, without the speakers' names; lines run on.

    >>> speeches("HAMLET:\nWords,\nwords.\n\nPOLONIUS:\nWhat is the matter?\n")
    ['Words, words.', 'What is the matter?']
    """
    found = []
    for block in text.split("\n\n"):
        speaker, _, spoken = block.strip("\n").partition("\n")
        if speaker.endswith(":") and spoken.strip():
            found.append(" ".join(spoken.split()))
    return found


def dialog(data: str | Path | None, turns: int = 3, words: int = 30) -> Splits:
    """Up to `turns` speeches before -> the next speech, never across two splits.

    The text marks no scenes: it counts as one conversation.

    Args:
        data: a folder with the text, or `tfds:tiny_shakespeare`.
        turns: how many speeches a source holds, a mark between them; fewer at the beginning of a split.
        words: a longer speech is cut after so many.
    """
    if turns < 1 or words < 1:
        raise ValueError(f"turns, words: expected at least 1. Received: {turns}, {words}")
    text, name = _text(data)
    spoken = [" ".join(speech.split()[:words]) for speech in speeches(text)]
    parts = [
        [Pair(TURN.join(part[max(i - turns, 0) : i]), part[i]) for i in range(1, len(part))]
        for part in _cut(spoken, 20, f"speeches (NAME: and lines) of {name}", dev=0.1)
    ]
    return Splits(*parts, f"{name} (speeches by position: 80 % train, 10 % dev, the last 10 % test)")
