"""docs/datasets.md: a row for each data set, which agrees with the catalog."""

import re

import pytest
from support import pages

from seqattn_tf.training.data import catalog
from seqattn_tf.training.data.catalog.base import UNCHECKED

ROWS = {
    cells[0].strip("`"): cells
    for line in pages.text_of("datasets.md").splitlines()
    if line.startswith("| `") and (cells := [cell.strip() for cell in line.strip("|").split("|")])
}


def test_the_page_has_a_row_for_every_set():
    assert list(ROWS) == catalog.names()


@pytest.mark.parametrize("name", catalog.names())
def test_the_row_agrees_with_the_catalog(name):
    _, origin, license, address, _, converter = ROWS[name]
    dataset = catalog.get(name)
    assert license == dataset.license
    assert address == (dataset.source.address or UNCHECKED)
    for commit in re.findall(r"commit (\w{8})", origin):
        assert commit in dataset.source.version
    assert (dataset.convert is None) == converter.startswith("none")
    assert ("equal" in converter) == ("equal" in dataset.status and "no picture" not in dataset.status)


def test_the_example_shows_our_checksums():
    shown = dict(re.findall(r"^(\w+\.tsv) +equal +(\d+) bytes", pages.text_of("datasets.md"), re.M))
    assert shown == {name: str(file.size) for name, file in catalog.get("ud_ewt").files.items()}
