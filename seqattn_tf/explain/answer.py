"""What an answer looked at, as the picture that fits its form."""

import re
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from seqattn_tf.answer import Answer, Look
from seqattn_tf.explain.alignment import draw_alignment
from seqattn_tf.explain.grid import draw_grid
from seqattn_tf.explain.highlight import draw_highlight
from seqattn_tf.explain.sheet import empty_answer
from seqattn_tf.explain.tags import UNREAD, draw_tags
from seqattn_tf.explain.tree import draw_tree

HEAD = re.compile(r"(\d+)(?::(.+))?")
LINES = "_lines"  # what the look over the lines of a text ends in


def draw_answer(question: str, answer: Answer, look: str = "", picture: np.ndarray | None = None) -> Figure:
    """Draws one look of an answer: tags, a tree, the words that speak for a label, a map over a grid or over symbols.

    Maps stand under the question and what was said; tags and trees show both themselves.

    Args:
        question: what was asked, as one line.
        answer: what came of it.
        look: the name of the look; the first where none is named.
        picture: what a look over a grid is drawn over, `[y, x, 3]` from 0 to 255.
    """
    title = f"{question} \u2192 {answer.text}" if question else answer.text
    if look and look not in answer.looks:
        raise ValueError(f"look: expected one of {sorted(answer.looks)}. Received: {look!r}")
    if not answer.looks:
        return empty_answer(title)
    name = look or next(iter(answer.looks))
    seen = answer.looks[name]
    if seen.weights.ndim == 3:
        return draw_grid(seen.weights, seen.rows, picture=picture, title=title)
    if is_tree(answer.tokens, seen):
        return _draw_tree(answer.tokens, seen)
    if is_tagging(answer.tokens, seen):
        tagged = enumerate(answer.tokens)
        shares = [1.0 if tag == UNREAD else seen.weights[seen.rows.index(tag), place] for place, tag in tagged]
        return draw_tags(seen.places, answer.tokens, shares)
    if is_label(answer.tokens, seen):
        return _draw_label(answer, name)
    return draw_alignment(seen.weights, seen.places, seen.rows, title=title)


def is_tagging(tokens: Sequence[str], look: Look) -> bool:
    """Whether the tokens are tags, one for each place, and the rows all tags there are."""
    known = {*look.rows, UNREAD}
    return 0 < len(tokens) == len(look.places) and tuple(tokens) != look.rows and known.issuperset(tokens)


def is_tree(tokens: Sequence[str], look: Look) -> bool:
    """Whether the tokens are heads, `2` or `2:nsubj`, one for each word, and the words looked at each other."""
    if not 0 < len(tokens) == len(look.places) or look.rows != look.places or tuple(tokens) == look.rows:
        return False
    heads = [(word, HEAD.fullmatch(token)) for word, token in enumerate(tokens, 1) if token != UNREAD]
    return all(head and int(head[1]) in {*range(len(tokens) + 1)} - {word} for word, head in heads)


def is_label(tokens: Sequence[str], look: Look) -> bool:
    """Whether the only token is what looked."""
    return len(tokens) == 1 and tuple(tokens) == look.rows and len(look.places) > 0


def _draw_tree(tokens: Sequence[str], look: Look) -> Figure:
    pairs = [
        (-1, "") if token == UNREAD else (int(token.partition(":")[0]), token.partition(":")[2]) for token in tokens
    ]
    heads, relations = zip(*pairs, strict=True)
    return draw_tree(look.places, heads, relations, look.weights)


def _draw_label(answer: Answer, name: str) -> Figure:
    """The words, and the lines with them where there is a look over each."""
    name = name.removesuffix(LINES) if name.removesuffix(LINES) in answer.looks else name
    words, lines = answer.looks[name], answer.looks.get(name + LINES)
    together = lines is not None and len(lines.places) == words.places.count("\n") + 1
    weights = lines.weights[0] if lines is not None and together else None
    return draw_highlight(words.places, words.weights[0], line_weights=weights, title=answer.text)
