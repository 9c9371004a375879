"""Settings as users type them: by their declared types, with meanings, within bounds."""

import dataclasses

import pytest

from seqattn_tf.training.data import Examples, from_text
from seqattn_tf.training.tasks import PairSettings, PairTask, Settings, TableSettings, setting


@dataclasses.dataclass(frozen=True)
class Own(Settings):
    """What somebody else declares."""

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
    own = {"text", "target", "split_column", "test", "stream"}
    assert set(TableSettings.meanings()) - set(PairSettings.meanings()) == own


@pytest.mark.parametrize(
    "wrong", ["learning_rate=-1", "clip_norm=0", "seed=-1", "warmup_steps=-1", "label_smoothing=1"]
)
def test_values_out_of_bounds_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{wrong.partition('=')[0]}: expected"):
        Settings().with_assignments([wrong])


@pytest.mark.parametrize("choice", [{"field": "image"}, {"encoder": "hierarchical", "field": "text"}])
def test_a_field_that_the_encoder_cannot_read_is_refused(choice):
    examples = Examples([from_text("ab", "ba"), from_text("b", "a")])
    with pytest.raises(ValueError, match=r"field: expected one like '(text|lines)', which the encoder reads"):
        PairTask().build(PairSettings(**choice), examples)
