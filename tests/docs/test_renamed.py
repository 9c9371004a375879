"""The page of old and new names: all modules that it says are now there are."""

import importlib.util
import re

from support import pages


def test_new_modules_exist_and_old_ones_do_not():
    rows = re.findall(r"^\| (`.*) \| (`.*) \|$", pages.text_of("renamed.md"), re.M)
    assert len(rows) > 15
    old, new = (
        {name for row in rows for name in re.findall(r"`(seqattn_tf(?:\.[a-z_]+)+)`", row[side])} for side in (0, 1)
    )
    assert [
        name for name in new if importlib.util.find_spec(name.replace(".describe.describe", ".describe")) is None
    ] == []
    assert {name for name in old - new if _there(name)} == set()


def _there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
