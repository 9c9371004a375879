"""English names and their spellings in katakana, from Wikidata."""

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source, copied

_PLACES = {"train.tsv": "wd_katakana_64", "dev.tsv": "wd_katakana_16", "test.tsv": "wd_katakana_20"}

dataset = Dataset(
    name="katakana",
    title="English names in katakana",
    recipes=("transliterate",),
    license="CC0",
    source=Source(
        "NETransliteration-COLING2018 (Merhav and Ash, 2018): personal names from Wikidata, English to katakana",
        "equals data/wd_katakana_64, _16 and _20 at commit 5d5f59e5 (2018-06-04)",
        "CC0 1.0, data/LICENSE",
        "https://github.com/steveash/NETransliteration-COLING2018",
    ),
    split="63 246 training, 15 811 development and 19 763 test names: the authors' slices of 64, 16 and 20 percent",
    files={
        "train.tsv": Expected(1_850_837, "08c4022652d10ab1dacd2538f041027bebe42872d4f47ada67100e0638641bcb"),
        "dev.tsv": Expected(465_342, "87ba49a2b1465cde8f3c28d67b7730d4c627bd943f13200d46d698dd571db461"),
        "test.tsv": Expected(579_208, "6af9726f88ca1324976ed3d204373faad3de30d8a9b18b0723543fbc2ac5e8ff"),
    },
    convert=copied(_PLACES),
    originals=tuple(_PLACES.values()),
    status="run on the original: all three files equal",
)
