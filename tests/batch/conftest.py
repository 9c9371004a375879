import functools
import sys
from pathlib import Path

import keras
import pytest
from support import readers

from seqattn_tf import models
from seqattn_tf.batch import Options, map_file

sys.path.insert(0, str(Path(__file__).parent))  # pytest does not make neighbors of a test importable


@pytest.fixture(scope="session")
def toy(tmp_path_factory):
    """The folder of a small classifier for texts of at most 12 words."""
    keras.utils.set_random_seed(3)
    folder = tmp_path_factory.mktemp("toy")
    readers.flat().save(folder)
    return folder


@pytest.fixture(scope="session")
def load_once():
    return functools.cache(models.load)


@pytest.fixture
def answers_in_place(monkeypatch, load_once):
    """Map a file in this process, with models that are traced only once for all tests."""
    monkeypatch.setattr(models, "load", load_once)

    def answer(model, source, output, **options):
        return map_file(model, source, output, Options(**{"processes": 0, "shard_rows": 7, **options}), quiet=True)

    return answer


@pytest.fixture
def said(load_once, toy):
    """Return the answers of the toy classifier to texts, computed one by one."""
    return lambda texts: [load_once(toy).answer([text])[0] for text in texts]
