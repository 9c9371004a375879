"""In this folder, models answer step by step, unless a test is marked `traced`."""

from support.step_by_step import step_by_step  # noqa: F401
