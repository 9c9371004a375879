"""Universal Dependencies, English Web Treebank: words with parts of speech and dependency trees."""

import re
from collections.abc import Iterator

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source, by_part
from seqattn_tf.training.data.catalog.originals import Originals

_PLACES = by_part(lambda part: f"en_ewt-ud-{part}.conllu")
_COLUMNS = (1, 3, 4, 6, 7)  # form, upos, xpos, head, deprel
_NO_WORD = re.compile(r"\d+[-.]\d+")  # the number of a multiword token or of an empty node
_VERSIONS = {  # by the checksums of the converted dev.tsv and test.tsv
    "f530ea168fbbc6cd": "release 2.2 or 2.3",
    "ad8ec636d0162eff": "release 2.2 or 2.3",
    "92a682a4949979be": "release 2.4",
    "df647e831865aa31": "release 2.4",
    "4704522444a3d339": "release 2.5",
    "4a95efb8f2e8fa04": "release 2.5",
    "1470013a979e2eb3": "release 2.6",
    "56c96bffd39a7992": "release 2.6",
    "22b0a0d2382588e5": "release 2.7",
    "87e02c098898fb8d": "release 2.7",
    "851818e0fb935e1d": "release 2.8",
    "8cba651d110d7d7e": "release 2.8",
    "164c3e6df73a12e2": "release 2.9",
    "e47ee74bfb5b7c54": "release 2.9",
    "4d946292451803d8": "release 2.10",
    "b9ae74106a0c1680": "release 2.10",
    "b1cb32d3e94a5c36": "release 2.11",
    "b55d4432e6394a88": "release 2.11",
    "d83f1df8830aef8d": "release 2.12",
    "b23d54029a3e37ce": "release 2.12",
    "986946c8582ef283": "release 2.13",
    "0cab156babef1f0d": "release 2.13",
    "a4d8d59eb3e91622": "release 2.14",
    "59f097e58237b55a": "release 2.14",
    "11c2fd1b809fcb4c": "release 2.15",
    "2913e2c3d3ea9dc7": "release 2.15",
}


def _convert(originals: Originals) -> Iterator[tuple[str, bytes]]:
    """Keep five columns of each word; leave out comments, multiword tokens and empty nodes."""
    for part, place in _PLACES.items():
        yield f"{part}.tsv", "".join(_rows(originals, place)).encode()


def _rows(originals: Originals, place: str) -> Iterator[str]:
    for number, line in enumerate(map(bytes.decode, originals.lines(originals.one(place))), 1):
        cells = line.split("\t")
        if not line:
            yield "\n"
        elif line[0] != "#" and len(cells) != 10:
            raise ValueError(f"{place}, line {number}: expected 10 columns. Received: {line[:80]!r}")
        elif line[0] != "#" and not _NO_WORD.fullmatch(cells[0]):
            yield "\t".join(cells[column] for column in _COLUMNS) + "\n"


dataset = Dataset(
    name="ud_ewt",
    title="English words with tags and dependency trees",
    recipes=("parse", "tag"),
    license="CC BY-SA 4.0",
    source=Source(
        "Universal Dependencies, UD_English-EWT (English Web Treebank)",
        "release 2.16 (May 2025)",
        "CC BY-SA 4.0, README.md of the repository",
        "https://github.com/UniversalDependencies/UD_English-EWT",
    ),
    split="12 544 training, 2 001 development and 2 077 test sentences, as distributed; columns form, upos, xpos, head "
    "and deprel, without multiword tokens and empty nodes. The recipes read .conllu files, too",
    files={
        "train.tsv": Expected(4_372_851, "607113e45fe17d689f0f4d0f9b8b8a80e6cf38259aa83f07cd119f665951c400"),
        "dev.tsv": Expected(537_628, "851f6beed84b575ca0c2fd22a147a3c8eeca0bbe3dbb76829a09803a93975319"),
        "test.tsv": Expected(535_936, "dcd2cdd783dd46e556b3856c3c4932da2e9c633dfdd98f1bd2e8a81198b01120"),
    },
    convert=_convert,
    originals=tuple(_PLACES.values()),
    status="run on tag r2.16 (commit 4c89b583): all three files equal; dev and test of releases 2.2 to 2.15 differ. "
    "The training file was rebuilt from the sources of the tag; its git checksum is that of the file in the tag",
    versions=_VERSIONS,
)
