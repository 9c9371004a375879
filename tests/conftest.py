"""Fixtures and hooks for all tests: TensorFlow's log level and threads, random seeds, and real corpora."""

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
if "PYTEST_XDIST_WORKER" in os.environ:  # With several workers, one thread each is fastest.
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    budget.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(budget)  # hooks in a conftest are not called for session fixtures
    if budget.runs_tests(config) and not config.option.collectonly:
        forked.start_server()


def pytest_collection_finish() -> None:
    gc.collect()
    # Imported objects are permanent, and scanning a million of them repeatedly would take a tenth of the time.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def resident_mb() -> float:
    """Return the memory of this process in MB; 0 if it is unknown."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
    except OSError:
        return 0.0


@pytest.fixture(autouse=True, scope="module")
def _graphs_given_back() -> Iterator[None]:
    """Collect garbage after modules that left many graphs, whose reference cycles are otherwise collected rarely."""
    before = resident_mb()
    yield
    if resident_mb() > before + 300:
        gc.collect()


ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True, scope="session")
def _forked_loader() -> Iterator[None]:
    """Run the C++ loader, which verifies every export, in forked processes; `test_cpp_loader` starts new ones."""
    from seqattn_tf.export import cpp_loader

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpp_loader, "subprocess", forked)
        yield


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Seed the random numbers that Keras draws for layers that a module creates when it is imported."""
    if isinstance(collector, pytest.Module):
        random.seed(1)


@pytest.fixture(autouse=True, scope="module")
def _seeded_module() -> None:
    """Seed the random numbers in the fixtures of a module, so that they are the same in every run."""
    _seed()


@pytest.fixture(autouse=True)
def _seeded(_seeded_module: None) -> None:
    """Seed the random numbers in a test, so that they are the same in every run, whichever tests run before."""
    _seed()


def _seed() -> None:
    import keras

    _keep_graphs_when_seeding()
    keras.utils.set_random_seed(1)


@functools.cache
def _keep_graphs_when_seeding() -> None:
    """Let `tf.random.set_seed` set only the seed, without discarding every optimized graph and every kernel.

    Kernels are discarded because some have a random state, but none of the kernels used here does. A graph that several
    tests share would otherwise be optimized again in each of them.
    """
    import tensorflow as tf
    from tensorflow.python.eager import context

    def set_seed(seed: int) -> None:
        own = context.context()
        own._seed, own._rng = seed, random.Random(seed)

    tf.random.set_seed = set_seed


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora beside the repository; its tests are skipped if it is missing."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the corpora in ../shared/data beside the repository")
    return folder


@pytest.fixture(scope="session")
def preset():
    """The model that is shipped with the package."""
    from seqattn_tf.presets import open_model

    return open_model("pronounce", "keras")


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """A folder with the export of the shipped model, `models/pronounce/1`; it must not be modified."""
    from seqattn_tf.export.package import export
    from seqattn_tf.presets import find

    return once(tmp_path_factory, "exported", lambda to: export(find("pronounce"), to / "models" / "pronounce"))


@pytest.fixture(scope="session")
def reverse_run(tmp_path_factory):
    """The folder of a run that was trained to reverse words (see `support.reverse`); it must not be modified."""
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
    """Allow any share of malformed rows, for tests of the messages about rows in small files."""
    from seqattn_tf.training.data.reading import reading_with

    with reading_with(max_bad_rows=1.0):
        yield
