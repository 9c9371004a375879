"""Texts of several lines, such as sentences or turns: the symbols of all lines, with a mark between two lines."""

import re

from seqattn_tf.lite.text.rules import SPACES, SymbolRules
from seqattn_tf.lite.text.tokens import ABBREVIATION

MARK = "\n"  # the symbol between two lines
BREAK = f"[{SPACES}]*\n[{SPACES}]*"  # blank lines and blanks around a line are ignored
SENTENCES: tuple[tuple[str, str], ...] = (  # puts each sentence on a line, in Python and in TensorFlow (RE2)
    (r"\x00", "\ufffd"),  # NUL marks a possible end of a sentence below
    ("([.!?\u2026]+)", "\\1\0"),
    ("\\x00(['\")\\]\u201d\u2019]+)", "\\1\0"),
    *[(rf"(^|[ \n])((?:{ABBREVIATION}|[A-Z])\.)\x00 ", r"\1\2 ")] * 2,  # twice: neighbors share a space
    (r"\x00[ \t]+", MARK),
    (r"\x00", ""),
    ("([\u3002\uff01\uff1f])", rf"\1{MARK}"),
)
_COMPILED = [(re.compile(pattern), replacement) for pattern, replacement in SENTENCES]


def split_lines(text: str, sentences: bool = False) -> list[str]:
    """Return the lines of a text without blank ones; with `sentences`, each sentence is a separate line.

    >>> split_lines("a b\\r\\n\\n c\\n"), split_lines("I saw Mr. Smith. Did you?\\nNo.", sentences=True)
    (['a b', 'c'], ['I saw Mr. Smith.', 'Did you?', 'No.'])
    """
    if sentences:
        for pattern, replacement in _COMPILED:
            text = pattern.sub(replacement, text)
    return [line for part in text.split(MARK) if (line := part.strip(SPACES))]


def tokens(rules: SymbolRules, text: str, sentences: bool = False) -> list[str]:
    """Return the symbols of all lines, with a mark between two lines.

    >>> tokens(SymbolRules((), "spaces"), "a b\\nc")
    ['a', 'b', '\\n', 'c']
    """
    found: list[str] = []
    for line in split_lines(text, sentences):
        found += [MARK, *rules.tokens(line)]
    return found[1:]
