"""Cases of a parametrised test that only the slow run takes: more of what others show."""

import functools

import pytest

slow = functools.partial(pytest.param, marks=pytest.mark.slow)
