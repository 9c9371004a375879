"""Tiny Shakespeare: 1.1 million characters of plays, to be written on character by character, or as a dialogue.

Both are split by position, and the last tenth is the test split. Development is the first twentieth of the characters,
so that what is learned from goes on right up to the test split; of the speeches it is the tenth before the last.
"""

from collections.abc import Sequence
from pathlib import Path

from seqattn_tf.training.data.examples import Example, Splits, from_text
from seqattn_tf.training.data.finding import find_text, public_name
from seqattn_tf.training.data.reading import read_text

_WANTED = "one text of plays, such as tiny Shakespeare's input.txt (or --data tfds:tiny_shakespeare),"


def _text(data: str | Path | None) -> tuple[str, str]:
    """The whole text and its name."""
    if name := public_name(data):
        from seqattn_tf.training.data import tfds

        parts = tfds.rows(name, ["text"])
        return "".join(text for part in ("train", "dev", "test") for (text,) in parts.get(part, ())), name
    path = find_text(data, _WANTED)
    return read_text(path), path.name


def _check(items: Sequence, what: str) -> None:
    if len(items) < 20:
        raise ValueError(f"{what}: expected at least 20. Received: {len(items)}")


def characters(data: str | Path | None) -> Splits:
    """The text itself, each split one target without a source."""
    text, name = _text(data)
    _check(text, f"characters of {name}")
    first, last = len(text) // 20, len(text) * 9 // 10
    train, dev, test = ([Example("", {}, part)] for part in (text[first:last], text[:first], text[last:]))
    return Splits(train, dev, test, f"{name} (by position: the first 5 % dev, 85 % train, the last 10 % test)")


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
    _check(spoken, f"speeches (NAME: and lines) of {name}")
    first, last = (len(spoken) * tenths // 10 for tenths in (8, 9))
    train, dev, test = (
        [from_text("\n".join(part[max(i - turns, 0) : i]), part[i]) for i in range(1, len(part))]
        for part in (spoken[:first], spoken[first:last], spoken[last:])
    )
    return Splits(train, dev, test, f"{name} (speeches by position: 80 % train, 10 % dev, the last 10 % test)")
