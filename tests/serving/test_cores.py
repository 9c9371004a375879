import os

import pytest

from seqattn_tf.serving.cores import usable_cores


@pytest.mark.parametrize(
    ("text", "most"), [("50000 100000", 1), ("100000 100000", 1), ("max 100000", 10**6), ("", 10**6), ("x y", 10**6)]
)
def test_a_quota_limits_the_cores(tmp_path, text, most):
    """Would fail if a container with one CPU on a large machine got threads for all of the machine's cores."""
    path = tmp_path / "cpu.max"
    path.write_text(text)
    assert usable_cores(path) == min(most, len(os.sched_getaffinity(0)))
    assert usable_cores(tmp_path / "no") == len(os.sched_getaffinity(0))
