"""Settings as entered by users: converted to their declared types, with their values checked."""

import dataclasses

import pytest

from seqattn_tf.training import recipes
from seqattn_tf.training.data import Examples, from_text
from seqattn_tf.training.tasks import PairSettings, PairTask, Settings, TableSettings, setting


@dataclasses.dataclass(frozen=True)
class Own(Settings):
    """User-defined settings."""

    alpha: float = 1
    loud: bool = setting(False, "or quiet")
    nothing: str | None = None
    units: int = 7


def test_a_value_is_read_as_its_declared_type():
    own = Own().with_assignments(["alpha=0.5", "loud=yes"])
    assert (own.alpha, own.loud, own.units) == (0.5, True, 7)
    with pytest.raises(ValueError, match=r"nothing: expected a setting of bool, int, float or str"):
        Own().with_assignments(["nothing=x"])
    with pytest.raises(ValueError, match=r"loud: expected bool\. Received: 'perhaps'"):
        Own().with_assignments(["loud=perhaps"])


def test_a_changed_default_keeps_its_meaning():
    assert Own.meanings()["units"] == Settings.meanings()["units"] != ""
    assert Own.meanings()["loud"] == "or quiet"
    assert Own.meanings()["alpha"] == ""
    own = {"text_column", "target_column", "split_column", "test", "stream"}
    assert set(TableSettings.meanings()) - set(PairSettings.meanings()) == own


@pytest.mark.parametrize(
    "wrong",
    [
        *[
            "units=0",
            "embedding=0",
            "depth=0",
            "batch_size=0",
            "epochs=0",
            "patience=0",
            "gradient_accumulation_steps=0",
        ],
        *["warmup_steps=-1", "max_examples=-1", "batch_tokens=-1", "learning_rate=-1", "seed=-1", "weight_decay=-1"],
        *["clip_norm=0", "label_smoothing=1"],
    ],
)
def test_values_out_of_bounds_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{wrong.partition('=')[0]}: expected"):
        Settings().with_assignments([wrong])


@pytest.mark.parametrize("name", ["dropout", "learning_rate", "clip_norm", "weight_decay", "max_bad_rows"])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_numbers_that_are_not_finite_are_refused(name, value):
    """Values such as `--set learning_rate=nan` must be rejected: no comparison with NaN is true."""
    with pytest.raises(ValueError, match=f"{name}: expected a finite number. Received: {value}"):
        Settings().with_assignments([f"{name}={value}"])


def test_every_class_of_settings_has_a_name_of_its_own():
    """Two settings classes with different meanings must not have the same name."""
    for name in recipes.names():
        recipes.get(name)
    found, seen = [Settings], []
    while found:
        kind = found.pop()
        found += kind.__subclasses__()
        if kind.__module__.startswith("seqattn_tf.") and kind not in seen:
            seen.append(kind)
    names = [kind.__name__ for kind in seen]
    assert "EntailTableSettings" in names
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("wrong", ["embedding_stddev=-1", "embedding_dropout=1"])
def test_those_of_pairs_out_of_bounds_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{wrong.partition('=')[0]}: expected"):
        PairSettings().with_assignments([wrong])


def test_what_is_set_of_embeddings_layers_and_first_states_reaches_the_network():
    examples = Examples([from_text("ab", "ba"), from_text("b", "a")])
    plain, chosen = (
        PairTask().build(PairSettings(units=4, depth=2, embedding=64).with_assignments(changes), examples).network
        for changes in ([], ["embedding_stddev=1", "embedding_dropout=0.125", "residual=no", "bridge=first"])
    )
    assert (plain.encoder.residual, plain.decoder.bridge) == (True, "all")
    assert (chosen.encoder.residual, chosen.decoder.bridge) == (False, "first")
    for before, after in ((plain.encoder, chosen.encoder), (plain.decoder, chosen.decoder)):
        assert (before.drop_symbols.rate, after.drop_symbols.rate) == (0.3, 0.125)
        assert after.embedding.embeddings.numpy().std() > 3 * before.embedding.embeddings.numpy().std()


@pytest.mark.parametrize("choice", [{"field": "image"}, {"encoder": "hierarchical", "field": "text"}])
def test_a_field_that_the_encoder_cannot_read_is_refused(choice):
    examples = Examples([from_text("ab", "ba"), from_text("b", "a")])
    with pytest.raises(ValueError, match=r"field: expected a field of type '(text|lines)', which the encoder needs"):
        PairTask().build(PairSettings(**choice), examples)
