"""Folders that are created once per test run, by the first process that needs them."""

import os
import time


def once(tmp_path_factory, name, make, patience=300):
    """Return a folder that was filled by `make(folder)`; it must not be modified."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    done = folder.with_name(f"{name}.done")
    try:
        folder.mkdir()
    except FileExistsError:
        deadline = time.time() + patience
        while not done.exists() and time.time() < deadline:
            time.sleep(0.2)
        assert done.read_text() == "whole"
        return folder
    try:
        make(folder)
        done.write_text("whole")
    except BaseException:
        done.write_text("failed")
        raise
    return folder
