"""The base class of the checks of all families: how checks are found, run and reported."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

_PREFIX = "check_"


class Result(NamedTuple):
    """The outcome of one check. `problem` is empty if it passed."""

    name: str
    problem: str


class CheckError(AssertionError):
    """The error raised if at least one check failed.

    Args:
        part: The part that was checked.
        problems: The results of the failed checks.
        count: The number of checks that ran.
    """

    def __init__(self, part: Any, problems: Sequence[Result], count: int) -> None:
        self.problems = list(problems)
        lines = [f"{type(part).__name__}: {len(self.problems)} of {count} checks failed"]
        super().__init__("\n".join([*lines, *(f"  {name}: {problem}" for name, problem in self.problems)]))


class Problem(Exception):
    """A failed expectation, described in one sentence."""


class Checks:
    """The checks of one part. Each method `check_*` is a check, which raises `Problem` or any error of the part itself.

    Args:
        part: The part to check.
    """

    def __init__(self, part: Any) -> None:
        self.part = part

    @classmethod
    def all_names(cls) -> list[str]:
        """Return the names of all checks of the family, in the order in which they run."""
        found = {name: None for base in reversed(cls.__mro__) for name in base.__dict__ if name.startswith(_PREFIX)}
        return [name.removeprefix(_PREFIX) for name in found]

    def names(self) -> list[str]:
        """Return the names of the checks that apply to this part."""
        return self.all_names()

    def run(self, name: str) -> Result:
        """Run one check and return its result."""
        try:
            getattr(self, _PREFIX + name)()
        except Problem as problem:
            return Result(name, str(problem))
        except Exception as error:  # a custom part may raise anything
            lines = str(error).strip().splitlines()
            return Result(name, f"raised {type(error).__name__}: {lines[0] if lines else ''}")
        return Result(name, "")


def expect(condition: Any, problem: str) -> None:
    """Raise a problem unless the condition holds."""
    if not condition:
        raise Problem(problem)


def expect_close(found: Any, expected: Any, tolerance: float, what: str) -> None:
    """Raise a problem unless two arrays have the same shape and nearly equal numbers."""
    found, expected = np.asarray(found), np.asarray(expected)
    expect(found.shape == expected.shape, f"{what}: expected the shape {expected.shape}. Received: {found.shape}")
    if not found.size:
        return
    expect(np.isfinite(found).all(), f"{what}: expected finite numbers. Received: NaN or infinity")
    difference = np.abs(found.astype("float64") - expected.astype("float64"))
    excess = difference - tolerance * (1 + np.abs(expected.astype("float64")))
    if excess.max() > 0:
        place = np.unravel_index(excess.argmax(), excess.shape)
        raise Problem(
            f"{what}: expected {expected[place]:.6g}. Received: {found[place]:.6g} at {tuple(map(int, place))}"
        )


def changed(value: Any) -> Any:
    """Return a value of the same type that differs from a default, or None if the type is not supported.

    >>> changed(True), changed(3), changed(0.0), changed("tanh")
    (False, 4, 0.25, None)
    """
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return value / 2 + 0.25 if isinstance(value, float) else None


def _arguments_of(kind: type, ends_at: type) -> dict[str, inspect.Parameter]:
    """Return the constructor arguments of a class and its bases, up to the base class of its family."""
    found: dict[str, inspect.Parameter] = {}
    for base in kind.__mro__:
        if base is ends_at:
            break
        if made := base.__dict__.get("__init__"):
            for name, parameter in list(inspect.signature(made).parameters.items())[1:]:
                if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                    found.setdefault(name, parameter)
    return found


def expect_stored(part: Any, family: type, rebuild: Callable[[Any, dict[str, Any]], Any]) -> None:
    """Raise a problem unless `get_config` contains every constructor argument, also with non-default values.

    Args:
        part: The part to check.
        family: The base class of its family, whose own arguments are ignored.
        rebuild: A function that returns a new part, given a part and changes to its configuration.
    """
    config, kind = part.get_config(), type(part)
    arguments = _arguments_of(kind, family)
    missing = sorted(name for name, one in arguments.items() if name not in config and one.default is not None)
    expect(not missing, f"get_config: expected every constructor argument. Received: no {', '.join(missing)}")
    expect(
        rebuild(part, {}).get_config() == config,
        "get_config: expected the same configuration after from_config. Received: a different one",
    )
    for name, parameter in arguments.items():
        given = config.get(name)
        other = changed(given if given is not None else parameter.default)
        if other is None:
            continue
        try:
            made = rebuild(part, {name: other})
        except (ValueError, TypeError):  # Keras may raise one in place of the other
            continue  # the part rejects this value
        stored = made.get_config().get(name)
        expect(
            stored == other,
            f"get_config: expected {name}={other!r}, as passed to the constructor. Received: {stored!r}",
        )
