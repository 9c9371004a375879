"""Every example in a docstring runs and gives what it says."""

import doctest
import importlib
import pkgutil

import pytest

import seqattn_tf


def modules() -> list[str]:
    found = [seqattn_tf.__name__]
    for package in (
        seqattn_tf,
        *(importlib.import_module(f"seqattn_tf.{r}") for r in ("training", "export", "serving")),
    ):
        found += [m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return sorted(set(found))


@pytest.mark.parametrize("name", modules())
def test_examples_of(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_the_main_classes_have_an_example():
    for name in seqattn_tf._NAMES:
        assert ">>>" in getattr(seqattn_tf, name).__doc__ or name == "load", name
