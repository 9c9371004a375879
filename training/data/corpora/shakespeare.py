"""Tiny Shakespeare: 1.1 million characters of plays, to be continued character by character, or as a dialogue.

Both forms are split by position, with the last tenth as the test split. Of the characters, the first twentieth is the
development split, so that the training text continues right up to the test split. Of the speeches, the tenth before the
last is the development split.
"""

from collections.abc import Sequence
from pathlib import Path

from seqattn_tf.training.data.examples import Example, Splits, from_text
from seqattn_tf.training.data.finding import find_text, public_name
from seqattn_tf.training.data.reading import read_text

_WANTED = "one text file of plays, such as tiny Shakespeare's input.txt (or --data tfds:tiny_shakespeare),"


def _text(data: str | Path | None) -> tuple[str, str]:
    """Return the whole text and its name."""
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
    """Return the text itself; each split is one target without a source."""
    text, name = _text(data)
    _check(text, f"characters of {name}")
    first, last = len(text) // 20, len(text) * 9 // 10
    train, dev, test = ([Example("", {}, part)] for part in (text[first:last], text[:first], text[last:]))
    return Splits(train, dev, test, f"{name} (by position: the first 5 % dev, 85 % train, the last 10 % test)")


def speeches(text: str) -> list[str]:
    r"""Return the speeches without the names of the speakers; the lines of a speech are joined.

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
    """Return pairs of up to `turns` consecutive speeches and the next speech, never across two splits.

    The text does not mark scenes, so it counts as one conversation.

    Args:
        data: A folder with the text, or `tfds:tiny_shakespeare`.
        turns: The number of speeches in a source, separated by line feeds; fewer at the beginning of a split.
        words: The maximum number of words of a speech; longer ones are truncated.
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
