"""Which tag may follow which, in the schemes that write segments as tags of single words.

A scheme says two things of every letter: whether it begins something or goes on with the segment of the word before,
and whether a segment may go on, or end, behind it. All rules follow:

    i -> j    where j begins:     i may end
              where j goes on:    i may go on, and both have the same label
    starts    what begins
    ends      what may end
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Role(NamedTuple):
    """What a letter does: it begins or goes on; behind it, a segment may go on, or end."""

    begins: bool
    may_go_on: bool
    may_end: bool


_RULES = {
    "BIO": {
        "B": Role(begins=True, may_go_on=True, may_end=True),
        "I": Role(begins=False, may_go_on=True, may_end=True),
        "O": Role(begins=True, may_go_on=False, may_end=True),
    },
    "BIOES": {
        "B": Role(begins=True, may_go_on=True, may_end=False),
        "I": Role(begins=False, may_go_on=True, may_end=False),
        "E": Role(begins=False, may_go_on=False, may_end=True),
        "S": Role(begins=True, may_go_on=False, may_end=True),
        "O": Role(begins=True, may_go_on=False, may_end=True),
    },
}
_SYNONYMS = {"IOB2": "BIO", "IOBES": "BIOES", "BILOU": "BIOES"}  # of schemes
_LETTERS = {"L": "E", "U": "S"}  # of BILOU: last, unit


class Allowed(NamedTuple):
    """What a scheme allows: `transitions[i, j]`, tag `i` followed by `j`; `starts` and `ends` of a sequence."""

    transitions: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def check_names(tags: Sequence[str]) -> tuple[str, ...]:
    """The names of the tags, one or more, all different."""
    names = () if isinstance(tags, str) else tuple(tags)
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise ValueError(f"tags: expected different names, at least one. Received: {tags!r}")
    return names


def _role(name: str, rules: dict[str, Role]) -> tuple[Role, str]:
    """What the tag does, and the label of its segment."""
    letter, dash, label = name.partition("-")
    role = rules.get(letter) or rules.get(_LETTERS.get(letter, ""))
    if role is None or bool(dash) != bool(label) or (letter == "O" and label):
        letters = ", ".join(f"{known}-LABEL" for known in rules if known != "O")
        raise ValueError(f"tags: expected {letters} or O. Received: {name!r}")
    return role, label


def allowed_transitions(tags: Sequence[str], scheme: str) -> Allowed:
    """Which tag may follow which, which may come first, and which last.

    Args:
        tags: their names, as `B-PER`, `I-PER`, `O`; without a label (`B`, `I`, `O`) where there is one kind of segment.
        scheme: `"BIO"` (also called IOB2): a segment is `B I I ...`; or `"BIOES"` (IOBES, BILOU): it is `B I ... E`,
            or `S` alone. `L` and `U` are read as `E` and `S`.

    >>> allowed = allowed_transitions(["O", "B-X", "I-X"], "BIO")
    >>> allowed.transitions.astype(int).tolist()  # I-X may follow B-X and I-X, not O
    [[1, 1, 0], [1, 1, 1], [1, 1, 1]]
    >>> allowed.starts.tolist()
    [True, True, False]
    """
    rules = _RULES.get(_SYNONYMS.get(scheme, scheme))
    if rules is None:
        raise ValueError(f"scheme: expected one of {sorted([*_RULES, *_SYNONYMS])}. Received: {scheme!r}")
    roles, labels = zip(*(_role(name, rules) for name in check_names(tags)), strict=True)
    begins, may_go_on, may_end = np.array(roles).T  # [tags] each
    same = np.array(labels)[:, None] == np.array(labels)
    transitions = np.where(begins, may_end[:, None], may_go_on[:, None] & same)
    if not begins.any() or not may_end.any():
        raise ValueError(f"tags: expected one that may come first and one that may come last. Received: {tags!r}")
    return Allowed(transitions, begins, may_end)
