import dataclasses

from seqattn_tf.training.recipes.entail_generate import EntailGenerateSettings, recipe


def test_the_label_chooses_the_pairs(tmp_path):
    for part in ("train", "dev", "test"):
        rows = [f"{label}\tA dog runs.\tIt is {label}.\n" for label in ("entailment", "neutral", "contradiction")]
        (tmp_path / f"{part}.tsv").write_text("".join(rows))
    assert isinstance(recipe.small, EntailGenerateSettings)
    assert recipe.small.label == recipe.settings.label == "entailment"
    for label in ("entailment", "contradiction"):
        splits = recipe.load(tmp_path, dataclasses.replace(recipe.small, label=label))
        assert [example.target for example in splits.train] == [f"It is {label}."]
