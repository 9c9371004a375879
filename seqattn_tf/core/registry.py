"""Registries of classes and objects found by name, and checks of arguments. Does not import TensorFlow."""

import difflib
import inspect
from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any, ClassVar

from seqattn_tf import plugins


def check_count(name: str, value: Any) -> int:
    """Return the value, checked to be a positive integer.

    >>> check_count("units", 8)
    8
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name}: expected a positive integer. Received: {value!r}")
    return int(value)


def suggest(received: Any, known: Iterable[Any]) -> str:
    """Return a suggestion to append to the error for an unknown name: the most similar known name, if any.

    >>> suggest("unit", ["units", "depth"]), suggest("colour", ["units", "depth"])
    ("; did you mean 'units'?", '')
    """
    near = difflib.get_close_matches(str(received).lower(), [str(name) for name in known], n=1)
    return f"; did you mean {near[0]!r}?" if near and near[0] != received else ""


def full_name(defined: Any) -> str:
    """Return the module and the qualified name of a class or a function.

    >>> full_name(check_count)
    'seqattn_tf.core.registry.check_count'
    """
    return f"{defined.__module__}.{defined.__qualname__}"


class Registered:
    """A family of classes, each found by its name.

    The base class of a family sets `registry = {}`; each member sets `name_in_registry`.

    >>> class Colour(Registered):
    ...     registry = {}
    >>> class Red(Colour):
    ...     name_in_registry = "red"
    >>> type(Colour.get("red")).__name__
    'Red'
    """

    registry: ClassVar[dict[str, type]]
    name_in_registry: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name_in_registry" in cls.__dict__:
            held = full_name(cls.registry.get(cls.name_in_registry, cls))
            if held != full_name(cls):
                raise ValueError(
                    f"name_in_registry: {cls.name_in_registry!r} is already the name of {held}. Choose another"
                )
            cls.registry[cls.name_in_registry] = cls

    @classmethod
    def get(cls, choice: Any, **arguments: Any) -> Any:
        """Create an object of the named class with the arguments, or return the given object unchanged."""
        if isinstance(choice, cls):
            return choice
        return cls.member(choice)(**arguments)

    @classmethod
    def member(cls, name: Any) -> Any:
        """Return the class of that name. Installed plug-ins are loaded if the name is unknown."""
        if isinstance(name, str) and name not in cls.registry:
            plugins.load_installed()
        if not isinstance(name, str) or name not in cls.registry:
            family, names = cls.__name__, sorted(cls.registry)
            article, near = "an" if family[0] in "AEIO" else "a", suggest(name, names)
            raise ValueError(
                f"{family.lower()}: expected one of {names} or {article} {family}. Received: {name!r}{near}"
            )
        return cls.registry[name]


def twin_of(plain: Any, family: type[Registered]) -> type[Any]:
    """Return the class in a family that has the same name as an object's class, or as the nearest of its base classes.

    Installed plug-ins are loaded if the name is unknown.
    """
    name = plain.name_in_registry
    if name not in family.registry:
        plugins.load_installed()
    for made in type(plain).__mro__:
        if found := family.registry.get(made.__dict__.get("name_in_registry", "")):
            return found
    expected = f"{type(plain).__name__}: expected a {family.__name__} with name_in_registry = {name!r}"
    raise ValueError(f"{expected}. Received: a registry with {sorted(family.registry)}")


class RegisteredObject:
    """A family of objects, each found by its name once the module that creates it is imported.

    The base class of a family sets `made = {}`; an object calls `remember` when it is created.

    >>> class City(RegisteredObject):
    ...     made = {}
    ...     def __init__(self, name):
    ...         self.name = name
    ...         self.remember()
    >>> paris = City("paris")
    >>> City.get("paris") is paris
    True
    """

    made: ClassVar[dict[str, Any]]
    name: str

    def remember(self) -> None:
        """Register the object under its name."""
        self.made[self.name] = self

    @classmethod
    def get(cls, name: str) -> Any:
        """Return the object of that name. Installed plug-ins are loaded if the name is unknown."""
        if name not in cls.made:
            plugins.load_installed()
        if name not in cls.made:
            near = suggest(name, cls.made)
            raise ValueError(f"{cls.__name__.lower()}: expected one of {sorted(cls.made)}. Received: {name!r}{near}")
        return cls.made[name]


def arguments_of(made: Callable[..., Any], settings: Any) -> dict[str, Any]:
    """Return the attributes of `settings` that `made` accepts as optional arguments, by name.

    >>> class Settings:
    ...     size, units, rate = 3, 8, 0.1
    >>> def network(size, units=4): ...
    >>> arguments_of(network, Settings)
    {'units': 8}
    """
    parameters = inspect.signature(made).parameters.values()
    optional = [parameter.name for parameter in parameters if parameter.default is not parameter.empty]
    return {name: getattr(settings, name) for name in optional if hasattr(settings, name)}
