"""Words and punctuation of running text, separated as in English treebanks: `do n't`, `John 's`, `( yes )`.

The rules insert spaces and remove none, so a text whose words are already separated mostly stays unchanged. They are
valid both in Python's regular expressions and in TensorFlow's (RE2), so they use no look-around and no Unicode classes.
"""

import re

_CLITIC = "(?:[sS]|[mM]|[dD]|ll|LL|re|RE|ve|VE)"
ABBREVIATION = "(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Inc|Ltd|Co|Corp|Gen|Sen|Rep|vs|etc)"
RULES: tuple[tuple[str, str], ...] = (  # pattern and replacement, in order; the text has spaces around it
    (r"(\.\.+|--+|[!?]+)", r" \1 "),
    ('([;"()\\[\\]{}$%\u00a3\u20ac\u201c\u201d\u201e\u00ab\u00bb\u2026\u2014\u2013\u2018\u00bf\u00a1])', r" \1 "),
    ("([\u3002\u3001\uff01\uff1f\u300c\u300d\uff08\uff09\uff0c\u0964\u061f\u060c])", r" \1 "),
    (r",([^0-9])", r" , \1"),
    (r":([^0-9/])", r" : \1"),
    (rf" ({ABBREVIATION})\.", " \\1\0"),  # NUL temporarily replaces the dot; texts contain no NUL
    (r"([^ .][^ .])\. ", r"\1 . "),
    (r"\x00", "."),
    (r"( [^ .])\. +$", r"\1 . "),
    ("([^ ])([nN]['\u2019][tT]) ", r"\1 \2 "),
    (f"([^ ])(['\u2019]{_CLITIC}) ", r"\1 \2 "),
    ("([^ ])(['\u2019]) ", r"\1 \2 "),
    (r"( [cC]an)(not) ", r"\1 \2 "),
)
_COMPILED = [(re.compile(pattern), replacement) for pattern, replacement in RULES]


def tokens(text: str, spaces: str) -> list[str]:
    """Split a text into words and punctuation.

    >>> tokens('"I can\\'t," said Mr. Smith.', " ")
    ['"', 'I', 'ca', "n't", ',', '"', 'said', 'Mr.', 'Smith', '.']
    """
    text = f" {re.sub(f'[{spaces}]+', ' ', text)} "
    for pattern, replacement in _COMPILED:
        text = pattern.sub(replacement, text)
    return [word for word in text.split(" ") if word]
