"""Dakshina, Hindi: words in Latin letters, as people write them, and in Devanagari."""

from collections.abc import Iterator

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source, by_part
from seqattn_tf.training.data.catalog.originals import Originals

_PLACES = by_part(lambda part: f"hi/lexicons/hi.translit.sampled.{part}.tsv")


def _convert(originals: Originals) -> Iterator[tuple[str, bytes]]:
    """Put the Latin spelling before the native word."""
    for part, place in _PLACES.items():
        rows = []
        for number, line in enumerate(originals.lines(originals.one(place)), 1):
            cells = line.decode().split("\t")
            if len(cells) != 3:
                raise ValueError(
                    f"{place}, line {number}: expected a word, its spelling and a count. Received: {line!r}"
                )
            rows.append("\t".join((cells[1], cells[0], cells[2])) + "\n")
        yield f"{part}.tsv", "".join(rows).encode()


dataset = Dataset(
    name="dakshina",
    title="Hindi words in Latin letters and in Devanagari",
    recipes=("transliterate",),
    license="CC BY-SA 4.0",
    source=Source(
        "Dakshina (Roark and others, 2020), Hindi lexicons",
        "dakshina_dataset_v1.0, the only version that the repository lists",
        "CC BY-SA 4.0, README.md of the repository",
        "https://github.com/google-research-datasets/dakshina",
    ),
    split="44 204 training, 4 358 development and 4 502 test pairs, as distributed; the columns are swapped, because "
    "the recipe reads the Latin spelling first",
    files={
        "train.tsv": Expected(1_326_377, "0fe7d3e7761aa017795f5f56fb592ca97445b2f1f92b45c0d094e7151da941e1"),
        "dev.tsv": Expected(125_512, "ed63e805da349b065d4c49e0823442d28011194308988189180f1de23e21365a"),
        "test.tsv": Expected(128_062, "497d4f77cb11e22269e0b4e6f1d7a010a55fbe80241c9f68a7b4210b243f7860"),
    },
    convert=_convert,
    originals=tuple(_PLACES.values()),
    status="run on a copy of the three original files in a third repository: all equal",
)
