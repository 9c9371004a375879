"""A text with its tree: brackets as in treebanks, or plain text with a balanced tree."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from seqattn_tf.lite.fields.text import Text
from seqattn_tf.lite.text.cut import Cut, learn_from
from seqattn_tf.lite.text.rules import BEGIN, SPACES, SymbolRules

NONE = 0  # marks a missing child; it is the number of the root, which is never a child
INNER = BEGIN  # the id of an inner node
EXPECTED = "expected a tree of (LABEL WORD) and (LABEL TREE TREE)"
TREE = rf"(?s)\([{SPACES}]*[^{SPACES}()]+[{SPACES}]+(?:\(.*|[^{SPACES}()]+[{SPACES}]*)\)"  # text that may be a tree
_TREE = re.compile(TREE)
_SYMBOL = re.compile(rf"[()]|[^{SPACES}()]+")


class Nodes(NamedTuple):
    """A binary tree, with its nodes in the order of their opening brackets.

    The root comes first, and a left child directly follows its parent.
    """

    words: list[str]
    spans: list[tuple[int, int]]  # the range of words below each node
    children: list[tuple[int, int]]  # NONE twice for a leaf
    labels: list[str]  # empty strings for plain text


def parse(text: str) -> Nodes:
    """Parse the tree of a text in brackets.

    Raises:
        ValueError: If brackets are unbalanced, a node has no label, or a node has neither one word nor two children.

    >>> tree = parse("(3 (2 not) (1 bad))")
    >>> tree.spans, tree.children, tree.labels
    ([(0, 2), (0, 1), (1, 2)], [(1, 2), (0, 0), (0, 0)], ['3', '2', '1'])
    """
    symbols = _SYMBOL.findall(text)
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    children: list[tuple[int, int]] = []
    labels: list[str] = []
    below: list[list[int]] = []  # the children of each open node
    open_nodes: list[int] = []
    own: list[int] = []  # the number of words directly below each node
    for place, symbol in enumerate(symbols):
        if symbol == "(":
            if (not open_nodes and labels) or symbols[place + 1 : place + 2] in ([], ["("], [")"]):
                raise ValueError(f"{EXPECTED}. Received: {text!r:.80}")
            if open_nodes:
                below[-1].append(len(labels))
            open_nodes.append(len(labels))
            below.append([])
            labels.append(symbols[place + 1])
            own.append(0)
            spans.append((len(words), len(words)))
            children.append((NONE, NONE))
        elif not open_nodes:
            raise ValueError(f"{EXPECTED}. Received: {text!r:.80}")
        elif symbol == ")":
            node, held = open_nodes.pop(), below.pop()
            if (len(held), own[node]) not in ((0, 1), (2, 0)):
                raise ValueError(f"{EXPECTED}. Received: {text!r:.80}")
            children[node] = (held[0], held[1]) if held else (NONE, NONE)
            spans[node] = (spans[node][0], len(words))
        elif symbols[place - 1] != "(":
            own[open_nodes[-1]] += 1
            words.append(symbol)
    if open_nodes:
        raise ValueError(f"{EXPECTED}. Received: {text!r:.80}, which is incomplete")
    return Nodes(words, spans, children, labels)


def _balance(words: list[str]) -> Nodes:
    """Return the balanced tree over words; with an odd number of words, the right half has one more.

    >>> _balance(["a", "b", "c"]).children
    [(1, 2), (0, 0), (3, 4), (0, 0), (0, 0)]
    """
    spans: list[tuple[int, int]] = []
    children: list[tuple[int, int]] = []
    waiting = [(0, len(words))] if words else []
    while waiting:
        low, high = waiting.pop()
        node, middle = len(spans), (low + high) // 2
        spans.append((low, high))
        if high - low == 1:
            children.append((NONE, NONE))
        else:
            children.append((node + 1, node + 2 * (middle - low)))
            waiting += [(middle, high), (low, middle)]
    return Nodes(words, spans, children, [""] * len(spans))


class TreeText(Text):
    """One text as the nodes of its tree: the ids of its words at the leaves, and the children of every node.

    A text that starts with `(LABEL (` and ends in a bracket, or that is `(LABEL WORD)`, is a tree; the rules cut any
    other text into words, over which the tree is balanced. The positions of attention are words, or at the level
    `nodes` the words below each node.

    Args:
        rules: The conversion of plain text to words, with their vocabulary, which must have an id for unknown words.
        limit: The maximum number of words; longer texts are rejected.

    >>> text = TreeText(SymbolRules(("not", "bad"), "tokens", unknown=True))
    >>> {name: array.tolist() for name, array in text.arrays("(3 (2 not) (1 bad))").items()}
    {'ids': [1, 4, 5], 'children': [[1, 2], [0, 0], [0, 0]]}
    >>> text.positions("not so bad", "nodes")
    ('not so bad', 'not', 'so bad', 'so', 'bad')
    """

    name_in_registry = "tree"

    def __init__(self, rules: SymbolRules, limit: int = 128) -> None:
        super().__init__(rules, limit)
        if not rules.unknown:
            raise ValueError(
                "rules: expected a vocabulary with an id for unknown words. Received: a vocabulary without it"
            )

    @classmethod
    def learn(
        cls,
        texts: Iterable[Any],
        *,
        limit: int = 128,
        tokenizer: str = "tokens",
        lowercase: bool = True,
        strip_accents: bool = False,
        **limits: Any,
    ) -> "TreeText":
        """Create the field with a vocabulary from texts, limited by `vocabulary` and `min_count`."""
        bare = SymbolRules((), tokenizer, lowercase, strip_accents, unknown=True)
        cut = Cut(map(cls(bare, limit).tokens, texts))
        return cls(learn_from(cut.renamed(bare.normalise).counts, bare, **limits), limit)

    def nodes(self, value: Any) -> Nodes:
        """Return the tree of a value."""
        text = self.text(value).replace("\0", "\ufffd").strip(SPACES)
        if _TREE.fullmatch(text):
            return parse(text)
        return _balance(SymbolRules((), self.rules.tokenizer).tokens(text))

    def tokens(self, value: Any) -> list[str]:
        """Return the words in their original spelling."""
        return self.nodes(value).words

    def arrays(self, value: Any) -> dict[str, np.ndarray]:
        """Return the ids, `[nodes]`, and the children, `[nodes, 2]`."""
        nodes = self.nodes(value)
        if len(nodes.words) > self.limit:
            raise ValueError(f"expected at most {self.limit} words. Received: {len(nodes.words)}")
        return self.encode(nodes)

    def encode(self, nodes: Nodes) -> dict[str, np.ndarray]:
        """Return the arrays of a tree of any size."""
        ids = self.word_ids(nodes.words)
        found = [INNER if left != NONE else ids[low] for (left, _), (low, _) in zip(*nodes[2:0:-1], strict=True)]
        return {"ids": np.array(found, np.int32), "children": np.array(nodes.children, np.int32).reshape(-1, 2)}

    def positions(self, value: Any, level: str = "") -> tuple[str, ...]:
        """Return the words, or the text below each node."""
        nodes = self.nodes(value)
        if level == "nodes":
            return tuple(" ".join(nodes.words[low:high]) for low, high in nodes.spans)
        return tuple(nodes.words)

    def edge_cases(self) -> list[str | bytes]:
        """Return the edge cases of any text, and trees."""
        word = self.rules.symbols[0] if self.rules.symbols else "\ue000"
        return [*super().edge_cases(), f"(1 {word})", f"(a (b {word}) (c (d \ue000) (e {word})))"]
