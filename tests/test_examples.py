"""Every example in a docstring runs and has the expected output."""

import doctest
import importlib
import pkgutil

import pytest
import tensorflow as tf
from support.step_by_step import untraced

import seqattn_tf
from seqattn_tf.models.base import Model


def modules() -> list[str]:
    found = [seqattn_tf.__name__]
    for package in (
        seqattn_tf,
        *(importlib.import_module(f"seqattn_tf.{r}") for r in ("training", "export", "serving")),
    ):
        found += [m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return sorted(set(found))


@pytest.fixture
def quick(monkeypatch):
    """Disable tracing, which takes longer than the examples; the tests of models and taggers cover it."""

    def not_traced(self, name, run, inputs):
        return lambda **given: run(**{key: tf.convert_to_tensor(given[key], inputs[key].dtype) for key in inputs})

    monkeypatch.setattr(Model, "traced", not_traced)


TRAINED = ("seqattn_tf.structured.tagger",)  # trained by `fit`


@pytest.mark.parametrize("name", modules())
def test_examples_of(name, quick):
    with untraced(name in TRAINED):
        result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_the_main_classes_have_an_example():
    for name in seqattn_tf._NAMES:
        assert ">>>" in getattr(seqattn_tf, name).__doc__ or name == "load", name
