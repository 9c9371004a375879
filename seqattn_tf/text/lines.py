"""Texts of several lines, a sentence or a turn each: their symbols in a row, with a mark between two lines."""

from seqattn_tf.text.rules import SPACES, SymbolRules

MARK = "\n"  # the symbol between two lines
BREAK = f"[{SPACES}]*\n[{SPACES}]*"  # blank lines and blanks around a line are nothing


def split_lines(text: str) -> list[str]:
    """The lines of a text, blank ones left out.

    >>> split_lines("a b\\r\\n\\n c\\n")
    ['a b', 'c']
    """
    return [line for part in text.split(MARK) if (line := part.strip(SPACES))]


def tokens(rules: SymbolRules, text: str) -> list[str]:
    """The symbols of all lines, a mark between two.

    >>> tokens(SymbolRules((), "spaces"), "a b\\nc")
    ['a', 'b', '\\n', 'c']
    """
    found: list[str] = []
    for line in split_lines(text):
        found += [MARK, *rules.tokens(line)]
    return found[1:]
