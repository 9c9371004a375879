"""The Brown corpus as sentences of words: targets without a source, for language models.

It is split by position and in the proportions of Bengio et al. (2003): of every 1181 words, the first 800 are for
training, the next 200 for development and the rest for testing. Sentences are never divided. As the corpus is ordered
from press to fiction, the test split contains only fiction.
"""

from pathlib import Path

from seqattn_tf.training.data.examples import Example, Splits
from seqattn_tf.training.data.finding import find_text
from seqattn_tf.training.data.reading import Faults, read_text

_WANTED = "the Brown corpus in one text file, one sentence of word/tag pairs per line,"
_PROPORTIONS = (800, 1000, 1181)


def sentence(line: str) -> str:
    """Return the words of a tagged line, or an empty string if a word has no tag.

    >>> sentence("The/at jury/nn said/vbd 1/2/cd ./.")
    'The jury said 1/2 .'
    """
    split_name = [token.rpartition("/") for token in line.split()]
    return " ".join(word for word, _, _ in split_name) if all(word and tag for word, _, tag in split_name) else ""


def load(folder: str | Path | None) -> Splits:
    """Load the corpus in `folder`. Lines that begin with `###` name documents; malformed lines are reported."""
    path = find_text(folder, _WANTED)
    sentences, faults = [], Faults(path.name)
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip() or line.startswith("###"):
            continue
        if text := sentence(line):
            sentences.append(text)
        else:
            faults.add(number, "word/tag", line)
    faults.close(len(sentences), "sentences")
    parts: list[list[Example]] = [[], [], []]
    total, before = sum(len(text.split()) for text in sentences), 0
    for text in sentences:
        place = before * _PROPORTIONS[2] / total
        parts[sum(place >= bound for bound in _PROPORTIONS[:2])].append(Example("", {}, text))
        before += len(text.split())
    if not all(parts):
        raise ValueError(f"{path}: expected sentences for each split. Received: {len(sentences)}")
    train, dev, test = parts
    return Splits(train, dev, test, f"{path.name} (by position, 800 : 200 : 181 words)")
