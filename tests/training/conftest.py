"""Models answer step by step here, unless a test is marked `traced`."""

from support.step_by_step import step_by_step  # noqa: F401
