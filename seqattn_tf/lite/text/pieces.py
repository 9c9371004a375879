"""Words, and the pieces of words, such that joining them gives the text back.

A space is written `▁` at the head of the word after it, so `A man, asleep` is the words `▁A`, `▁man`, `,`, `▁asleep`,
and a piece inside a word begins with `##`: `▁as`, `##leep`.
"""

import functools
import heapq
import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

SPACE, INSIDE = "\u2581", "##"
LONGEST_WORD = 100  # bytes; a longer word is cut into no pieces
_WORDLIKE = frozenset("LMN")  # general categories: letters, marks, numbers


@functools.cache
def _ascii(spaces: str) -> re.Pattern[str]:
    """Words of texts in ASCII, each after the spaces before it."""
    blank = re.escape(spaces)
    return re.compile(f"([{blank}]*)([A-Za-z0-9]+|[^A-Za-z0-9{blank}])")


def words(text: str, spaces: str) -> list[str]:
    """Runs of letters and digits, and every other character for itself, each with the space before it.

    >>> words("A man, asleep", " ")
    ['\u2581A', '\u2581man', ',', '\u2581asleep']
    """
    if text.isascii():
        return [f"{SPACE}{word}" if space else word for space, word in _ascii(spaces).findall(f" {text}")]
    found: list[str] = []
    inside, spaced = False, True
    for character in text:
        if character in spaces or character == SPACE:
            inside, spaced = False, True
            continue
        wordlike = unicodedata.category(character)[0] in _WORDLIKE
        if wordlike and inside and not spaced:
            found[-1] += character
        else:
            found.append(SPACE + character if spaced else character)
        inside, spaced = wordlike, False
    return found


def cut(word: str, vocabulary: Collection[str]) -> list[str]:
    """The pieces of a word, the longest that is known first; the word itself where there are none.

    >>> cut("asleep", {"as", "a", "##leep", "##le"})
    ['as', '##leep']
    """
    if len(word.encode()) > LONGEST_WORD:
        return [word]
    found, start = [], 0
    while start < len(word):
        mark = INSIDE if start else ""
        for end in range(len(word), start, -1):
            if mark + word[start:end] in vocabulary:
                found.append(mark + word[start:end])
                start = end
                break
        else:
            return [word]
    return found


def join(pieces: Iterable[str]) -> str:
    """The text of some words or pieces.

    >>> join(["\u2581A", "\u2581man", ",", "\u2581as", "##leep"])
    'A man, asleep'
    """
    return "".join(piece.removeprefix(INSIDE) for piece in pieces).replace(SPACE, " ").strip(" ")


def learn(counts: Mapping[str, int], size: int) -> list[str]:
    """At most `size` pieces for words of these counts, the most frequent characters first.

    Beginning with single characters, the two neighbours that stand together most often become one piece, again and
    again (Sennrich et al. 2016); ties are broken by the alphabet. The pieces are then used by the longest match.

    >>> learn({"low": 5, "lower": 2, "slow": 3}, 10)
    ['##o', '##w', 'l', '##l', 's', '##e', '##r', '##ow', 'low', '##low']
    """
    cuts = {word: [character if i == 0 else INSIDE + character for i, character in enumerate(word)] for word in counts}
    seen = Counter({piece: 0 for cut_word in cuts.values() for piece in cut_word})
    pairs: Counter[tuple[str, str]] = Counter()
    homes: defaultdict[tuple[str, str], set[str]] = defaultdict(set)

    def enter(word: str, sign: int) -> None:
        for pair in itertools.pairwise(cuts[word]):
            pairs[pair] += sign * counts[word]
            homes[pair].add(word)

    for word, pieces in cuts.items():
        enter(word, 1)
        for piece in pieces:
            seen[piece] += counts[word]
    found = sorted(seen, key=lambda piece: (-seen[piece], piece))[:size]
    queue = [(-count, pair) for pair, count in pairs.items()]
    heapq.heapify(queue)
    while queue and len(found) < size:
        count, pair = heapq.heappop(queue)
        if pairs[pair] != -count:  # it has fallen since it was put here
            if pairs[pair] > 0:
                heapq.heappush(queue, (-pairs[pair], pair))
            continue
        merged = pair[0] + pair[1].removeprefix(INSIDE)
        if merged not in seen:
            seen[merged] = 0
            found.append(merged)
        grown: set[tuple[str, str]] = set()
        for word in homes.pop(pair):
            enter(word, -1)
            before, cuts[word] = cuts[word], []
            while before:
                two = tuple(before[:2]) == pair
                cuts[word].append(merged if two else before[0])
                before = before[2 if two else 1 :]
            enter(word, 1)
            grown.update(itertools.pairwise(cuts[word]))
        for other in grown:
            if merged in other:
                heapq.heappush(queue, (-pairs[other], other))
    return found
