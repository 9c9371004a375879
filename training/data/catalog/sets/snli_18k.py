"""SNLI with 18 000 of its training pairs: a premise, a hypothesis, and whether one entails the other.

How the 18 000 pairs were drawn is not known. `snli_18k.bin` lists them: for each line of `train18k.tsv`, in order, the
first six bytes of its SHA-256 checksum. The lines themselves come from the original distribution.
"""

import hashlib
import json
from collections.abc import Iterator
from importlib import resources

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source, by_part
from seqattn_tf.training.data.catalog.originals import Originals

_PLACES = by_part(lambda part: f"snli_1.0_{part}.jsonl")
_KEYS = ("gold_label", "sentence1", "sentence2")
_UNSURE = "-"  # the label of a pair on which the annotators did not agree
_BYTES = 6


def chosen() -> list[bytes]:
    """Return the beginnings of the checksums of the training pairs, in order."""
    data = resources.files(__package__ or "").joinpath("snli_18k.bin").read_bytes()
    return [data[at : at + _BYTES] for at in range(0, len(data), _BYTES)]


def _mark(line: bytes) -> bytes:
    return hashlib.sha256(line).digest()[:_BYTES]


def _rows(originals: Originals, place: str) -> Iterator[bytes]:
    """Yield label, premise and hypothesis of the pairs with a label, with single spaces between words."""
    for number, line in enumerate(originals.lines(originals.one(place)), 1):
        try:
            pair = json.loads(line)
            cells = [" ".join(pair[key].split()) for key in _KEYS]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(
                f"{place}, line {number}: expected an object with {', '.join(_KEYS)}. Received: {line[:80]!r}"
            ) from None
        if cells[0] != _UNSURE:
            yield "\t".join(cells).encode()


def _convert(originals: Originals) -> Iterator[tuple[str, bytes]]:
    """Select the training pairs of the list; keep all development and test pairs with a label."""
    wanted = chosen()
    listed, found = set(wanted), {}
    for line in _rows(originals, _PLACES["train"]):
        if (mark := _mark(line)) in listed:
            found[mark] = line
    if not found:
        raise ValueError(f"{_PLACES['train']}: expected the {len(wanted)} pairs of the subset. Received: none of them")
    yield "train18k.tsv", b"".join(found[mark] + b"\n" for mark in wanted if mark in found)
    for part in ("dev", "test"):
        yield f"{part}.tsv", b"".join(line + b"\n" for line in _rows(originals, _PLACES[part]))


dataset = Dataset(
    name="snli_18k",
    title="sentence pairs with entailment labels",
    recipes=("entail", "entail_generate"),
    license="CC BY-SA 4.0",
    source=Source(
        "SNLI (Bowman and others, 2015)",
        "snli_1.0",
        "CC BY-SA 4.0, dataset card of stanfordnlp/snli",
        "https://huggingface.co/datasets/stanfordnlp/snli",
    ),
    split="18 000 of the 550 000 training pairs (6 015 entailment, 5 899 neutral, 6 086 contradiction), 9 842 "
    "development and 9 824 test pairs with a label, as distributed. The rule of the subset is not known; a list of "
    "checksums identifies its pairs and their order",
    files={
        "train18k.tsv": Expected(2_095_081, "52b0f74c959495d531bbab96209bbe639a1717888647b3bd0d80a8deac747c3a"),
        "dev.tsv": Expected(1_212_121, "0d3ceccf5254c3d7640d73524a51d4ca0eb05efdecaedf1aaa5526b757d69740"),
        "test.tsv": Expected(1_204_893, "e569e11bf6ebf1b45a79348afa19dec26962efe44458bda8ef3d9672d0d385f0"),
    },
    convert=_convert,
    originals=tuple(_PLACES.values()),
    status="not run on the original, whose training file was not at hand; the 2 527 labelled pairs of a part of the "
    "original development file, in a third repository, all occur in dev.tsv after conversion",
)
