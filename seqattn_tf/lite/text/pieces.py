"""Words and pieces of words, which give the text back when joined.

A space is written as `▁` at the start of the next word, so the words of `A man, asleep` are `▁A`, `▁man`, `,`,
`▁asleep`. A piece inside a word starts with `##`: `▁as`, `##leep`.
"""

import functools
import heapq
import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

SPACE, INSIDE = "\u2581", "##"
LONGEST_WORD = 100  # bytes; longer words are not split
_WORDLIKE = frozenset("LMN")  # general categories: letters, marks, numbers


@functools.cache
def _ascii(spaces: str) -> re.Pattern[str]:
    """Return a pattern for the words of ASCII texts, each with the spaces before it."""
    blank = re.escape(spaces)
    return re.compile(f"([{blank}]*)([A-Za-z0-9]+|[^A-Za-z0-9{blank}])")


def words(text: str, spaces: str) -> list[str]:
    """Split a text into runs of letters and digits and single other characters, each with the space before it.

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
    """Split a word into pieces by longest match, or return the word itself if that fails.

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
    """Join words or pieces to a text.

    >>> join(["\u2581A", "\u2581man", ",", "\u2581as", "##leep"])
    'A man, asleep'
    """
    return "".join(piece.removeprefix(INSIDE) for piece in pieces).replace(SPACE, " ").strip(" ")


def learn(counts: Mapping[str, int], size: int) -> list[str]:
    """Learn at most `size` pieces from the counts of words; single characters come first, by frequency.

    Starting from single characters, the most frequent pair of adjacent pieces is merged repeatedly (Sennrich et al.
    2016); ties are broken alphabetically. The resulting pieces are applied by longest match.

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
        if pairs[pair] != -count:  # the count has decreased since it was queued
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
