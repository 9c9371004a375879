"""Small parallel Japanese-English corpus: sentences of the Tanaka corpus, tokenized."""

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source, copied

_NAMES = tuple(f"{part}.{language}" for part in ("train", "dev", "test") for language in ("ja", "en"))

dataset = Dataset(
    name="enja",
    title="Japanese and English sentences",
    recipes=("translate",),
    license="CC BY",
    source=Source(
        "small_parallel_enja (Y. Oda), sentences of 4 to 16 words from the Tanaka corpus",
        "equals commit 312408a1 (2019-09-11)",
        "the repository states none; the Tanaka corpus is CC BY 2.0 (FR), says the documentation of the crate `tanaka`",
        "https://github.com/odashi/small_parallel_enja",
    ),
    split="50 000 training, 500 development and 500 test pairs, as distributed",
    files={
        "train.en": Expected(1_701_356, "148b05dcd28638fe20ee84f2b1127001c80982be352007dda241fb759adadc76"),
        "train.ja": Expected(2_784_447, "fc81a1434349ec98a449d7ae9cd2530057f689637684ecfed3501ea6a8a07ecc"),
        "dev.en": Expected(17_054, "04a2673449770657fd5e3b963cb856be3130923212b6db8ac7eaeef18f06c041"),
        "dev.ja": Expected(27_781, "cd534f56b8639dc130f86a365e5ec0aa70042000bdd740a622fbbf8b6be4acca"),
        "test.en": Expected(17_301, "45edb380749ec2b49cca7618fc5a7595fc9f791180672ba466b90c873a4aa8bf"),
        "test.ja": Expected(27_793, "d37dc460a81b064e4106c8913eb11fa300da05cf3f58a7a5bbfec7e20947ddef"),
    },
    convert=copied({name: name for name in _NAMES}),
    originals=_NAMES,
    status="run on the original: all six files equal",
)
