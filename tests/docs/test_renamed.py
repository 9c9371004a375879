"""The page of old and new names: all new names exist, and no old one does."""

import pkgutil
import re

from support import pages

from seqattn_tf import convert


def test_new_names_exist_and_old_ones_do_not():
    rows = re.findall(r"^\| (`.*) \| (`.*) \|$", pages.text_of("renamed.md"), re.M)
    assert len(rows) > 15
    old, new = (
        {name for row in rows for name in re.findall(r"`(seqattn_tf(?:\.[a-z_]+)+)`", row[side])} for side in (0, 1)
    )
    assert {name for name in new if not _exists(name)} == set()
    assert {name for name in old - new if _exists(name)} == set()


def _exists(name):
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_every_name_that_is_converted_is_listed():
    """Catches an old name that is misspelled in the converter, which would leave the setting unconverted."""
    page = pages.text_of("renamed.md")
    tables = [convert._SETTINGS, *convert._ARGUMENTS.values(), *convert._FIELDS.values(), convert._RECIPES]
    assert [old for table in tables for old in table if f"`{old}`" not in page] == []
