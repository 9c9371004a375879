"""SICK: pairs of sentences, with entailment and relatedness."""

from seqattn_tf.training.data.catalog.base import Dataset, Expected, Source, copied

_NAMES = ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt")

dataset = Dataset(
    name="sick",
    title="sentence pairs with entailment labels",
    recipes=("entail",),
    license="CC BY-NC-SA 3.0",
    source=Source(
        "SICK (Marelli and others, 2014), the files of SemEval 2014 task 1",
        "as of SemEval 2014",
        "CC BY-NC-SA 3.0, as quoted by a project that uses it; not seen at the source",
        "https://zenodo.org/record/2787612",
    ),
    split="4 500 training, 500 trial (development) and 4 927 test pairs, as distributed for SemEval",
    files={
        "SICK_train.txt": Expected(506_243, "266cf8047149bd1d68138dd30439f3122bff30069740ac6705bb6197d9f1b48e"),
        "SICK_trial.txt": Expected(57_225, "5a88cfb62f8c6bd2a3cce0f2421ba2cb8c2be5ab4a800f6f01e2c64aafb7db56"),
        "SICK_test_annotated.txt": Expected(
            559_979, "2b8aa806658d6fc23c6824c83776c2d4fee7556000817b5ec0f982861413b7d0"
        ),
    },
    convert=copied({name: name for name in _NAMES}),
    originals=_NAMES,
    status="run on a copy of the three original files in a third repository: all equal",
)
