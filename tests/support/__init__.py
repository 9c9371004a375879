"""Oracles and harnesses that the tests share."""
