"""What an answer looked at, as the picture that fits its form."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from seqattn_tf.explain.alignment import draw_alignment
from seqattn_tf.explain.facts import draw_facts
from seqattn_tf.explain.formula import formula_of
from seqattn_tf.explain.grid import draw_grid
from seqattn_tf.explain.highlight import draw_highlight
from seqattn_tf.explain.phrases import draw_phrases, nodes_of
from seqattn_tf.explain.sheet import empty_answer
from seqattn_tf.explain.tags import UNREAD, draw_tags
from seqattn_tf.explain.timeline import draw_timeline
from seqattn_tf.explain.tree import draw_tree
from seqattn_tf.lite.answer import Answer, Look

HEAD = re.compile(r"(\d+)(?::(.+))?")
_LINES, _NODES = "_lines", "_nodes"  # what the looks over the lines of a text, over the nodes of a tree end in
_FACTS = "facts"  # the part with the numbers of the lines that were looked at, in their order
_NEAR = 0.01  # how far from 1 probabilities may add up


def draw_answer(question: str, answer: Answer, look: str = "", picture: np.ndarray | None = None) -> Figure:
    """Draws one look of an answer: tags, a tree, labels of phrases, words that speak for a label, facts, or a map.

    Maps, over a grid or over symbols, and trees that came with an answer stand under the question and what was said;
    all else shows both itself.

    Args:
        question: what was asked, as one line.
        answer: what came of it.
        look: the name of the look; the first where none is named.
        picture: what a look over a grid is drawn over, or one over time above it, `[y, x, 3]` from 0 to 255.
    """
    title = f"{question} \u2192 {answer.text}" if question else answer.text
    if look and look not in answer.looks:
        raise ValueError(f"look: expected one of {sorted(answer.looks)}. Received: {look!r}")
    if not answer.looks:
        return empty_answer(title)
    name = look or next(iter(answer.looks))
    seen = answer.looks[name]
    if seen.weights.ndim == 3:
        return draw_grid(seen.weights, seen.rows, picture=picture, title=title, said=formula_of(answer.tokens))
    if picture is not None:
        return draw_timeline(seen.weights, seen.rows, seen.places, picture, title=title)
    if has_tree(answer, name):
        heads = _numbers(answer.parts[name])
        return draw_tree(seen.places, heads, marginals=seen.weights, title=title, kind="the most probable tree")
    if has_facts(answer, name):
        chosen, asked = answer.parts[_FACTS], without_story(question, seen.places)
        return draw_facts(seen.places, seen.weights, chosen, asked, answer.text)
    if _is_tree(answer.tokens, seen):
        return _draw_tree(answer.tokens, seen)
    if is_phrases(answer.tokens, seen, name):
        return draw_phrases(seen.places, seen.rows, seen.weights)
    if is_tagging(answer.tokens, seen):
        tagged = enumerate(answer.tokens)
        shares = [1.0 if tag == UNREAD else seen.weights[seen.rows.index(tag), place] for place, tag in tagged]
        return draw_tags(seen.places, answer.tokens, shares)
    if _is_label(answer.tokens, seen):
        return _draw_label(answer, name)
    return draw_alignment(seen.weights, seen.places, seen.rows, title=title)


def has_tree(answer: Answer, name: str) -> bool:
    """Whether the words of a look looked at each other, and a part of its name has the head of each in the best tree.

    >>> looks = {"text_heads": Look(np.zeros([2, 2]), ("dogs", "bark"), ("dogs", "bark"))}
    >>> has_tree(Answer("yes", -0.1, looks=looks, parts={"text_heads": np.array([2, 0])}), "text_heads")
    True
    """
    look, heads = answer.looks[name], _numbers(answer.parts.get(name))
    if look.rows != look.places or not 0 < len(heads) == len(look.places):
        return False
    roots = heads.count(0)  # where nothing was read, all are 0
    fits = all(0 <= head <= len(heads) and head != word for word, head in enumerate(heads, 1))
    return fits and 0 < roots < max(len(heads), 2)


def has_facts(answer: Answer, name: str) -> bool:
    """Whether a look is one over lines, and the part `facts` has the number of a line for each of its rows."""
    look, chosen = answer.looks[name], _numbers(answer.parts.get(_FACTS))
    fits = all(0 <= number <= len(look.places) for number in chosen)
    return name.endswith(_LINES) and 0 < len(chosen) == len(look.rows) and fits


def _numbers(part: Any) -> list[int]:
    """The numbers of a part; none where it is of another form."""
    found = np.asarray(part)
    return found.tolist() if found.ndim == 1 and np.issubdtype(found.dtype, np.integer) else []


def without_story(question: str, facts: Sequence[str]) -> str:
    """What was asked, as one line, without the facts that it was asked about.

    >>> without_story("Mary left. / John slept. | Who slept?", ["Mary left.", "John slept."])
    'Who slept?'
    """
    story = r"[\s/]*".join(map(re.escape, facts))
    return re.sub(rf"[\s/]*{story}[\s/]*", "", question, count=1).strip(" |")


def is_tagging(tokens: Sequence[str], look: Look) -> bool:
    """Whether the tokens are tags, one for each place, and the rows all tags there are.

    Tokens that are the rows, too, may have looked at the places: they are tags where the weights of each place add up
    to 1, and not those of each row.
    """
    if not 0 < len(tokens) == len(look.places) or not {*look.rows, UNREAD}.issuperset(tokens):
        return False
    of_places, of_rows = (bool(np.all(abs(look.weights.sum(axis=axis) - 1) < _NEAR)) for axis in (0, 1))
    return tuple(tokens) != look.rows or (of_places and not of_rows)


def is_phrases(tokens: Sequence[str], look: Look, name: str = "") -> bool:
    """Whether the only token is one of several rows, and the places are what stands below each node of a binary tree.

    One word is a tree only where the look is named so: it may as well have been tagged.
    """
    if len(tokens) != 1 or len(look.rows) < 2 or tokens[0] not in look.rows or not nodes_of(look.places):
        return False
    return len(look.places) > 1 or name.endswith(_NODES)


def _is_tree(tokens: Sequence[str], look: Look) -> bool:
    """Whether the tokens are heads, `2` or `2:nsubj`, one for each word, and the words looked at each other."""
    if not 0 < len(tokens) == len(look.places) or look.rows != look.places or tuple(tokens) == look.rows:
        return False
    heads = [(word, HEAD.fullmatch(token)) for word, token in enumerate(tokens, 1) if token != UNREAD]
    return all(head and int(head[1]) in {*range(len(tokens) + 1)} - {word} for word, head in heads)


def _is_label(tokens: Sequence[str], look: Look) -> bool:
    """Whether the only token is what looked."""
    return len(tokens) == 1 and tuple(tokens) == look.rows and len(look.places) > 0


def _draw_tree(tokens: Sequence[str], look: Look) -> Figure:
    pairs = [
        (-1, "") if token == UNREAD else (int(token.partition(":")[0]), token.partition(":")[2]) for token in tokens
    ]
    heads, relations = zip(*pairs, strict=True)
    return draw_tree(
        look.places, heads, relations, look.weights, kind="the tree with the most labelled arcs expected to be right"
    )


def _draw_label(answer: Answer, name: str) -> Figure:
    """The words, and the lines with them where there is a look over each."""
    name = name.removesuffix(_LINES) if name.removesuffix(_LINES) in answer.looks else name
    words, lines = answer.looks[name], answer.looks.get(name + _LINES)
    together = lines is not None and len(lines.places) == words.places.count("\n") + 1
    weights = lines.weights[0] if lines is not None and together else None
    return draw_highlight(words.places, words.weights[0], line_weights=weights, title=answer.text)
