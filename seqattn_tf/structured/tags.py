"""The transitions allowed by tagging schemes, which encode segments as tags of single words.

A scheme defines two properties of every letter: whether it begins a segment or continues that of the previous word, and
whether a segment may continue, or end, after it. All rules follow from these:

    i -> j    where j begins:       i may end
              where j continues:    i may continue, and both have the same label
    starts    letters that begin
    ends      letters that may end
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class _Role(NamedTuple):
    """The role of a letter: whether it begins a segment, and whether a segment may continue or end after it."""

    begins: bool
    may_go_on: bool
    may_end: bool


_RULES = {
    "BIO": {
        "B": _Role(begins=True, may_go_on=True, may_end=True),
        "I": _Role(begins=False, may_go_on=True, may_end=True),
        "O": _Role(begins=True, may_go_on=False, may_end=True),
    },
    "BIOES": {
        "B": _Role(begins=True, may_go_on=True, may_end=False),
        "I": _Role(begins=False, may_go_on=True, may_end=False),
        "E": _Role(begins=False, may_go_on=False, may_end=True),
        "S": _Role(begins=True, may_go_on=False, may_end=True),
        "O": _Role(begins=True, may_go_on=False, may_end=True),
    },
}
_SYNONYMS = {"IOB2": "BIO", "IOBES": "BIOES", "BILOU": "BIOES"}  # other names of schemes
_LETTERS = {"L": "E", "U": "S"}  # of BILOU: last, unit


class Allowed(NamedTuple):
    """The constraints of a tagging scheme.

    `transitions[i, j]` is True if tag `j` may follow tag `i`; `starts` and `ends` mark the tags that may come first and
    last.
    """

    transitions: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def check_names(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the tags, checked to be distinct and at least one."""
    names = () if isinstance(tags, str) else tuple(tags)
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise ValueError(f"tags: expected at least one name, without duplicates. Received: {tags!r}")
    return names


def _role(name: str, rules: dict[str, _Role]) -> tuple[_Role, str]:
    """Return the role of a tag and the label of its segment."""
    letter, dash, label = name.partition("-")
    role = rules.get(letter) or rules.get(_LETTERS.get(letter, ""))
    if role is None or bool(dash) != bool(label) or (letter == "O" and label):
        letters = ", ".join(f"{known}-LABEL" for known in rules if known != "O")
        raise ValueError(f"tags: expected {letters} or O. Received: {name!r}")
    return role, label


def allowed_transitions(tags: Sequence[str], scheme: str) -> Allowed:
    """Return which tags may follow each other, and which may come first and last.

    Args:
        tags: The names of the tags, such as `B-PER`, `I-PER`, `O`, or without labels (`B`, `I`, `O`) if there is only
            one kind of segment.
        scheme: `"BIO"` (also called IOB2), where a segment is `B I I ...`, or `"BIOES"` (IOBES, BILOU), where it is
            `B I ... E`, or `S` alone. `L` and `U` are read as `E` and `S`.

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
        raise ValueError(f"tags: expected a tag that may come first and one that may come last. Received: {tags!r}")
    return Allowed(transitions, begins, may_end)
