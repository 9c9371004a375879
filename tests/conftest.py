"""What every test needs: a quiet TensorFlow with its share of the cores, and the way to the real corpora."""

import functools
import gc
import os
import random
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import budget, forked
from support.once import once

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
if "PYTEST_XDIST_WORKER" in os.environ:  # workers share the cores: one thread each beats all fighting for all
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    budget.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(budget)  # hooks of a conftest do not see fixtures of the session
    if budget.runs_tests(config) and not config.option.collectonly:
        forked.start_server()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()  # what was imported stays: looking at a million objects for garbage, again and again, takes a tenth
    gc.set_threshold(50_000, 20, 100)


def resident_mb() -> float:
    """Memory of this process; 0 where it cannot be told."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
    except OSError:
        return 0.0


@pytest.fixture(autouse=True, scope="module")
def _graphs_given_back() -> Iterator[None]:
    """Graphs are garbage in cycles, for which the collector comes seldom: after a file that left many, it does."""
    before = resident_mb()
    yield
    if resident_mb() > before + 300:
        gc.collect()


ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True, scope="session")
def _forked_loader() -> Iterator[None]:
    """The C++ loader that verifies every export runs in forked processes; `test_cpp_loader` starts clean ones."""
    from seqattn_tf.export import cpp_loader

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpp_loader, "subprocess", forked)
        yield


@pytest.fixture(autouse=True, scope="module")
def _seeded_module() -> None:
    """What a file's fixtures draw is the same in every run."""
    _seed()


@pytest.fixture(autouse=True)
def _seeded(_seeded_module: None) -> None:
    """What a test draws is the same in every run, alone or after others."""
    _seed()


def _seed() -> None:
    import keras

    _keep_graphs_when_seeding()
    keras.utils.set_random_seed(1)


@functools.cache
def _keep_graphs_when_seeding() -> None:
    """Let `tf.random.set_seed` set the seed and no more: it also throws away every optimised graph and every kernel.

    That is for kernels with a state of their own, and nothing here draws by one. A graph that several tests share
    would be optimised anew in each of them.
    """
    import tensorflow as tf
    from tensorflow.python.eager import context

    def set_seed(seed: int) -> None:
        own = context.context()
        own._seed, own._rng = seed, random.Random(seed)

    tf.random.set_seed = set_seed


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora beside the repository; its tests are skipped where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the corpora in ../shared/data beside the repository")
    return folder


@pytest.fixture(scope="session")
def preset():
    """The model that ships with the package."""
    from seqattn_tf.models.presets import open_model

    return open_model("pronounce")


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """A folder with the shipped model exported, `models/pronounce/1`; nobody changes it."""
    from seqattn_tf.export.package import export
    from seqattn_tf.models.presets import find

    return once(tmp_path_factory, "exported", lambda to: export(find("pronounce"), to / "models" / "pronounce"))


@pytest.fixture(scope="session")
def reverse_run(tmp_path_factory):
    """The folder of a run that learned to say words in reverse (see `support.reverse`); nobody changes it."""
    from support import reverse

    from seqattn_tf.training import run

    return once(tmp_path_factory, "reverse", lambda to: run.train(reverse.RECIPE, reverse.SETTINGS, to / "run")) / "run"


@pytest.fixture(scope="session")
def reversing(reverse_run):
    """The model of that run."""
    from seqattn_tf.models import load

    return load(reverse_run)


@pytest.fixture
def bad_rows_allowed() -> Iterator[None]:
    """Any share of malformed rows: small files of which the test looks at what is said of each bad line."""
    from seqattn_tf.training.data.reading import reading_with

    with reading_with(max_bad_rows=1.0):
        yield
