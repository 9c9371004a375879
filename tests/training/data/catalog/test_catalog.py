"""What holds for every data set of the catalog, and the reference copies themselves."""

import re

import pytest

from seqattn_tf.training import recipes
from seqattn_tf.training.data import catalog
from seqattn_tf.training.data.catalog import checking

FOLDERS = {"snli_18k": "snli"}  # of the reference copies, where the name differs


def test_an_unknown_name_is_an_error_with_a_suggestion():
    with pytest.raises(
        ValueError, match=r"name: expected one of \['babi', .*Received: 'ud_etw'; did you mean 'ud_ewt'"
    ):
        catalog.get("ud_etw")


@pytest.mark.parametrize("name", catalog.names())
def test_every_set_states_what_a_reader_needs(name):
    dataset = catalog.get(name)
    assert dataset.name == name
    assert dataset.recipes
    assert set(dataset.recipes) <= set(recipes.PACKAGED)
    source = dataset.source
    assert all((dataset.title, dataset.license, dataset.split, dataset.status, source.project, source.version))
    assert source.license
    assert source.address == "" or source.address.startswith("https://")
    for file, expected in dataset.files.items():
        assert re.fullmatch(r"[0-9a-f]{64}", expected.sha256), file
        assert expected.size > 0
        assert (expected.count > 1) == bool(expected.pattern)
    assert (dataset.convert is None) == (dataset.originals == ())
    assert dataset.size == sum(expected.size for expected in dataset.files.values())


@pytest.mark.parametrize("name", catalog.names())
def test_the_reference_copy_verifies(name, shared_data):
    dataset, folder = catalog.get(name), shared_data / FOLDERS.get(name, name)
    if not folder.is_dir():
        pytest.skip(f"needs {folder.name} in the corpora beside the repository")
    assert checking.is_prepared(dataset, folder)
    assert {finding.name: finding.state for finding in checking.verify(dataset, folder)} == dict.fromkeys(
        dataset.files, "equal"
    )


def test_no_two_files_have_the_same_checksum():
    """A checksum that was copied to the wrong place."""
    found = [expected.sha256 for name in catalog.names() for expected in catalog.get(name).files.values()]
    assert len(found) == len(set(found))
