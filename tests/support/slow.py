"""Parametrized cases that run only with the slow tests, because others cover the same behavior."""

import functools

import pytest

slow = functools.partial(pytest.param, marks=pytest.mark.slow)
