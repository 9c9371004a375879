"""The transitions allowed by tagging schemes, compared with the definition of segments."""

import itertools

import numpy as np
import pytest

from seqattn_tf.structured.tags import allowed_transitions

BIO = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
BIOES = ["O", "B-PER", "I-PER", "E-PER", "S-PER", "B-LOC", "I-LOC", "E-LOC", "S-LOC"]


def written(segments, scheme):
    """Return the tags of a sentence, given the length and label of each segment; outside words have no label."""
    for length, label in segments:
        if label is None:
            yield from ["O"] * length
        elif scheme == "BIO":
            yield from [f"B-{label}"] + [f"I-{label}"] * (length - 1)
        elif length == 1:
            yield f"S-{label}"
        else:
            yield from [f"B-{label}"] + [f"I-{label}"] * (length - 2) + [f"E-{label}"]


def sentences(words):
    """Yield every segmentation of a number of words, in which each segment has a label or is outside."""
    if words == 0:
        yield []
    for length in range(1, words + 1):
        for label in ("PER", "LOC", None):
            yield from ([(length, label), *rest] for rest in sentences(words - length))


@pytest.mark.parametrize(("scheme", "tags"), [("BIO", BIO), ("BIOES", BIOES)])
def test_exactly_what_segments_can_be_written_as_is_allowed(scheme, tags):
    allowed = allowed_transitions(tags, scheme)
    possible = {tuple(written(segments, scheme)) for segments in sentences(4)}
    for sequence in itertools.product(range(len(tags)), repeat=4):
        fine = allowed.starts[sequence[0]] and allowed.ends[sequence[-1]]
        fine = fine and all(allowed.transitions[pair] for pair in itertools.pairwise(sequence))
        assert fine == (tuple(tags[tag] for tag in sequence) in possible)


def test_schemes_and_letters_by_their_other_names():
    expected = allowed_transitions(BIOES, "BIOES")
    other = [tag.replace("E-", "L-").replace("S-", "U-") for tag in BIOES]
    for found in (allowed_transitions(other, "BILOU"), allowed_transitions(BIOES, "IOBES")):
        assert all(map(np.array_equal, found, expected))
    assert all(map(np.array_equal, allowed_transitions(BIO, "IOB2"), allowed_transitions(BIO, "BIO")))


def test_labels_may_be_missing_or_hold_a_dash():
    bare = allowed_transitions(["B", "I", "O"], "BIO")
    assert bare.transitions.tolist() == [[True, True, True], [True, True, True], [True, False, True]]
    assert bare.transitions.dtype == bare.starts.dtype == bare.ends.dtype == bool
    dashed = allowed_transitions(["B-a-1", "I-a-1", "I-a-2"], "BIO")
    assert dashed.transitions[0].tolist() == [True, True, False]


@pytest.mark.parametrize("name", ["PER", "X-PER", "E-PER", "b-PER", "O-PER", "B-", "O-", "-PER"])
def test_malformed_names_are_refused(name):
    with pytest.raises(ValueError, match=rf"tags: expected B-LABEL, I-LABEL or O. Received: '{name}'"):
        allowed_transitions(["O", name], "BIO")


@pytest.mark.parametrize("tags", [[], "BIO", ["O", "O"], ["O", ""], ["O", 1]])
def test_names_must_be_different_strings(tags):
    with pytest.raises(ValueError, match=r"tags: expected at least one name, without duplicates\. Received: "):
        allowed_transitions(tags, "BIO")


def test_scheme_must_be_known_and_the_tags_of_use():
    with pytest.raises(ValueError, match=r"scheme: expected one of \['BILOU', 'BIO', .*\]. Received: 'IOB1'"):
        allowed_transitions(BIO, "IOB1")
    with pytest.raises(ValueError, match=r"tags: expected a tag that may come first .*. Received: \['I-PER'\]"):
        allowed_transitions(["I-PER"], "BIO")
