"""The figure for an attention map of an answer, chosen by the form of the answer."""

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
from seqattn_tf.lite.answer import Answer, AttentionMap
from seqattn_tf.lite.model_inputs import columns

HEAD = re.compile(r"(\d+)(?::(.+))?")
_LINES, _NODES = "_lines", "_nodes"  # suffixes of the maps over the lines of a text and over the nodes of a tree
_FACTS = "facts"  # the extra output with the numbers of the lines attended to, in order
_NEAR = 0.01  # tolerance of sums of probabilities


def draw_row(model: Any, row: Any, look: str = "") -> Figure:
    """Draw what the answer of a model to one row attends to.

    Args:
        model: A model with Keras, or with LiteRT.
        row: A mapping by input, or the bare value if there is only one input.
        look: The name of the attention map; by default the first one.
    """
    [answer] = model.answer([row])
    look = look or next(iter(answer.attention), "")
    values = columns([row], list(model.inputs))
    picture = model.inputs[look].picture(values[look][0]) if look in values else None
    return draw_answer(row_title(model, row), answer, look, picture)


def row_title(model: Any, row: Any) -> str:
    """Return the texts of a row as one line."""
    values = columns([row], list(model.inputs))
    return " | ".join(value.replace("\n", " / ") for [value] in values.values() if isinstance(value, str))


def draw_answer(question: str, answer: Answer, name: str = "", picture: np.ndarray | None = None) -> Figure:
    """Draw an attention map of an answer: tags, a tree, labels of phrases, words that support a label, facts, or a map.

    Maps over a grid or over symbols, and trees that are extra outputs, are drawn below the question and the answer; all
    other figures contain both.

    Args:
        question: The row that was answered, as one line.
        answer: The answer to it.
        name: The name of the attention map; by default the first one.
        picture: The image `[y, x, 3]` from 0 to 255 below a map over a grid, or above a map over time.
    """
    title = f"{question} \u2192 {answer.text}" if question else answer.text
    if name and name not in answer.attention:
        raise ValueError(f"name: expected one of {sorted(answer.attention)}. Received: {name!r}")
    if not answer.attention:
        return empty_answer(title)
    name = name or next(iter(answer.attention))
    seen = answer.attention[name]
    if seen.weights.ndim == 3:
        return draw_grid(seen.weights, seen.queries, picture=picture, title=title, said=formula_of(answer.tokens))
    if picture is not None:
        return draw_timeline(seen.weights, seen.queries, seen.keys, picture, title=title)
    if has_tree(answer, name):
        heads = _numbers(answer.extra[name])
        return draw_tree(seen.keys, heads, marginals=seen.weights, title=title, kind="the most probable tree")
    if has_facts(answer, name):
        chosen, asked = answer.extra[_FACTS], without_story(question, seen.keys)
        return draw_facts(seen.keys, seen.weights, chosen, asked, answer.text)
    if _is_tree(answer.tokens, seen):
        return _draw_tree(answer.tokens, seen)
    if is_phrases(answer.tokens, seen, name):
        return draw_phrases(seen.keys, seen.queries, seen.weights)
    if is_tagging(answer.tokens, seen):
        tagged = enumerate(answer.tokens)
        shares = [1.0 if tag == UNREAD else seen.weights[seen.queries.index(tag), place] for place, tag in tagged]
        return draw_tags(seen.keys, answer.tokens, shares)
    if _is_label(answer.tokens, seen):
        return _draw_label(answer, name)
    return draw_alignment(seen.weights, seen.keys, seen.queries, title=title)


def has_tree(answer: Answer, name: str) -> bool:
    """Return whether words attend to each other and an extra output with the same name contains the best tree's heads.

    >>> looks = {"text_heads": AttentionMap(np.zeros([2, 2]), ("dogs", "bark"), ("dogs", "bark"))}
    >>> has_tree(Answer("yes", -0.1, attention=looks, extra={"text_heads": np.array([2, 0])}), "text_heads")
    True
    """
    look, heads = answer.attention[name], _numbers(answer.extra.get(name))
    if look.queries != look.keys or not 0 < len(heads) == len(look.keys):
        return False
    roots = heads.count(0)  # all heads are 0 if nothing was read
    fits = all(0 <= head <= len(heads) and head != word for word, head in enumerate(heads, 1))
    return fits and 0 < roots < max(len(heads), 2)


def has_facts(answer: Answer, name: str) -> bool:
    """Return whether a map is over lines, and the extra output `facts` contains the number of a line for each query."""
    look, chosen = answer.attention[name], _numbers(answer.extra.get(_FACTS))
    fits = all(0 <= number <= len(look.keys) for number in chosen)
    return name.endswith(_LINES) and 0 < len(chosen) == len(look.queries) and fits


def _numbers(part: Any) -> list[int]:
    """Return the numbers of an extra output, or an empty list if it has another form."""
    found = np.asarray(part)
    return found.tolist() if found.ndim == 1 and np.issubdtype(found.dtype, np.integer) else []


def without_story(question: str, facts: Sequence[str]) -> str:
    """Return a question as one line, without the facts that it is about.

    >>> without_story("Mary left. / John slept. | Who slept?", ["Mary left.", "John slept."])
    'Who slept?'
    """
    story = r"[\s/]*".join(map(re.escape, facts))
    return re.sub(rf"[\s/]*{story}[\s/]*", "", question, count=1).strip(" |")


def is_tagging(tokens: Sequence[str], look: AttentionMap) -> bool:
    """Return whether the tokens are tags, one for each position, and the queries are all existing tags.

    Tokens that equal the queries may also have attended to the positions: they are tags if the weights of each
    position, but not those of each query, add up to 1.
    """
    if not 0 < len(tokens) == len(look.keys) or not {*look.queries, UNREAD}.issuperset(tokens):
        return False
    of_places, of_rows = (bool(np.all(abs(look.weights.sum(axis=axis) - 1) < _NEAR)) for axis in (0, 1))
    return tuple(tokens) != look.queries or (of_places and not of_rows)


def is_phrases(tokens: Sequence[str], look: AttentionMap, name: str = "") -> bool:
    """Return whether the only token is one of several queries and the keys are the texts below a binary tree's nodes.

    A single word counts as a tree only if the name of the map indicates it, since it may as well have been tagged.
    """
    if len(tokens) != 1 or len(look.queries) < 2 or tokens[0] not in look.queries or not nodes_of(look.keys):
        return False
    return len(look.keys) > 1 or name.endswith(_NODES)


def _is_tree(tokens: Sequence[str], look: AttentionMap) -> bool:
    """Return whether the tokens are heads, `2` or `2:nsubj`, one for each word, and the words attend to each other."""
    if not 0 < len(tokens) == len(look.keys) or look.queries != look.keys or tuple(tokens) == look.queries:
        return False
    heads = [(word, HEAD.fullmatch(token)) for word, token in enumerate(tokens, 1) if token != UNREAD]
    return all(head and int(head[1]) in {*range(len(tokens) + 1)} - {word} for word, head in heads)


def _is_label(tokens: Sequence[str], look: AttentionMap) -> bool:
    """Return whether the only token is the only query."""
    return len(tokens) == 1 and tuple(tokens) == look.queries and len(look.keys) > 0


def _draw_tree(tokens: Sequence[str], look: AttentionMap) -> Figure:
    pairs = [
        (-1, "") if token == UNREAD else (int(token.partition(":")[0]), token.partition(":")[2]) for token in tokens
    ]
    heads, relations = zip(*pairs, strict=True)
    return draw_tree(
        look.keys,
        heads,
        relations,
        look.weights,
        kind="the tree with the highest expected number of correct labelled arcs",
    )


def _draw_label(answer: Answer, name: str) -> Figure:
    """Draw the words, and the lines that contain them if there is a map over each."""
    name = name.removesuffix(_LINES) if name.removesuffix(_LINES) in answer.attention else name
    words, lines = answer.attention[name], answer.attention.get(name + _LINES)
    together = lines is not None and len(lines.keys) == words.keys.count("\n") + 1
    weights = lines.weights[0] if lines is not None and together else None
    return draw_highlight(words.keys, words.weights[0], line_weights=weights, title=answer.text)
