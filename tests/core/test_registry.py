import numpy as np
import pytest

from seqattn_tf.attention import Alignment
from seqattn_tf.cells import Cell
from seqattn_tf.core.registry import Registered, arguments_of, check_count, twin_of
from seqattn_tf.encoders import Encoder
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.presets import find
from seqattn_tf.training import recipes
from seqattn_tf.training.metrics import Metric
from seqattn_tf.training.tasks import Settings


class Colour(Registered):
    registry = {}

    def __init__(self, shade=0):
        self.shade = shade


class Red(Colour):
    name_in_registry = "red"


class Pale(Red):
    """Has no name in the registry."""


def test_members_are_found_by_their_names():
    assert Colour.registry == {"red": Red}
    made = Colour.get("red", shade=3)
    assert (type(made), made.shade) == (Red, 3)
    assert Colour.member("red") is Red
    pale = Pale(5)
    assert Colour.get(pale, shade=3) is pale
    assert pale.shade == 5


def test_another_name_is_refused_with_those_there_are():
    for wrong in ("blue", None, 3):
        with pytest.raises(ValueError, match=r"colour: expected one of \['red'\] or a Colour\. Received: "):
            Colour.get(wrong)


def test_a_count_is_a_positive_integer():
    assert [check_count("units", value) for value in (1, 8, np.int64(3))] == [1, 8, 3]
    assert type(check_count("units", np.int64(3))) is int
    for wrong in (0, -1, 1.0, True, "3", None):
        with pytest.raises(ValueError, match="units: expected a positive integer"):
            check_count("units", wrong)


def test_settings_give_the_optional_arguments_that_they_have():
    class Settings:
        size, units, rate = 3, 8, 0.1

    def network(size, units=4, *, depth=1, rate=0.0):
        """Does not have all of its arguments in the settings."""

    assert arguments_of(network, Settings) == {"units": 8, "rate": 0.1}


@pytest.mark.parametrize(
    ("ask", "meant"),
    [
        (lambda: Cell.member("lsmt"), "lstm"),
        (lambda: Alignment.member("sofmax"), "softmax"),
        (lambda: Encoder.member("bidirectoinal"), "bidirectional"),
        (lambda: recipes.get("translat"), "translate"),
        (lambda: find("pronunce"), "pronounce"),
        (lambda: Metric.get("blue"), "bleu"),
        (lambda: Settings().with_assignments(["unit=3"]), "units"),
        (lambda: Settings(precision="mixed_float_16"), "mixed_float16"),
        (lambda: SymbolRules((), tokenizer="character"), "characters"),
    ],
)
def test_a_correction_is_suggested_for_an_unknown_name(ask, meant):
    """A misspelled name must not be answered with a list of all names alone."""
    with pytest.raises(ValueError, match=rf"Received: .*; did you mean '{meant}'\?$"):
        ask()


class Shade(Registered):
    registry = {}


class PlainRed(Shade):
    name_in_registry = "red"


def test_a_twin_is_found_by_the_nearest_name_that_has_one(monkeypatch):
    assert twin_of(Red(), Shade) is twin_of(Pale(), Shade) is PlainRed
    monkeypatch.setattr(Colour, "registry", dict(Colour.registry))
    alone = type("Alone", (Colour,), {"name_in_registry": "alone"})()
    expected = r"Alone: expected a Shade with name_in_registry = 'alone'\. Received: a registry with \['red'\]"
    asked = []
    monkeypatch.setattr("seqattn_tf.plugins.load_installed", lambda: asked.append("installed"))
    with pytest.raises(ValueError, match=expected):
        twin_of(alone, Shade)
    assert asked == ["installed"]
