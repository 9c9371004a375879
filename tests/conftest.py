"""What every test needs: a quiet TensorFlow with its share of the cores, and the way to the real corpora."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.budget import (  # noqa: F401
    pytest_addoption,
    pytest_fixture_setup,
    pytest_runtest_makereport,
    pytest_runtest_protocol,
    pytest_sessionfinish,
    pytest_terminal_summary,
)

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
if "PYTEST_XDIST_WORKER" in os.environ:  # workers share the cores: one thread each beats all fighting for all
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parent.parent


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

    keras.utils.set_random_seed(1)


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
    """A folder with the shipped model exported, `models/pronounce/1`, once for all workers; nobody changes it."""
    from seqattn_tf.export.package import export
    from seqattn_tf.models.presets import find

    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "exported"
    done = folder / "done"
    try:
        folder.mkdir()
    except FileExistsError:
        deadline = time.time() + 300
        while not done.exists() and time.time() < deadline:
            time.sleep(0.5)
        assert done.read_text() == "whole"
        return folder
    try:
        export(find("pronounce"), folder / "models" / "pronounce")
        done.write_text("whole")
    except BaseException:
        done.write_text("failed")
        raise
    return folder


@pytest.fixture
def bad_rows_allowed() -> Iterator[None]:
    """Any share of malformed rows: small files of which the test looks at what is said of each bad line."""
    from seqattn_tf.training.data.reading import reading_with

    with reading_with(max_bad_rows=1.0):
        yield
