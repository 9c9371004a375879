"""The migration pages: their code runs, and gives the numbers of what it replaces."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
TAGS = 3


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The names defined by the migration page, and the values of the code in the right columns of its tables."""
    names, cells = {}, {}
    text = "\n".join((DOCS / name).read_text(encoding="utf-8") for name in ("from_addons.md", "from_addons_seq2seq.md"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        for part in re.split(r"(?m)^(?=## )", text):
            for block in re.findall(r"```python\n(.*?)```", part, re.S):
                exec(block, names)
            for left, right in re.findall(r"^\| (.+?) \| (.+) \|$", part, re.M):
                for code in re.findall(r"`(.*?)`", right):
                    if re.search(r"[.(\[]", code):  # skip plain names
                        cells.setdefault(left, []).append(eval(code, names))
    return names, cells


def test_the_migration_page_runs(page):
    names, cells = page
    assert sum(map(len, cells.values())) > 60
    assert names["predicted"].shape == (2, 4)
    np.testing.assert_array_equal(names["again"](names["words"])["tags"], names["predicted"])


def test_the_migration_page_gives_the_old_numbers(page):
    names, cells = page
    scores, transitions, bitmap, labels = (np.asarray(names[n]) for n in ("scores", "transitions", "bitmap", "labels"))
    for b, length in enumerate(names["lengths"].numpy()):
        sequences = np.array(list(itertools.product(range(TAGS), repeat=length)))
        unary = scores[b, np.arange(length), sequences].sum(1)
        binary = transitions[sequences[:, :-1], sequences[:, 1:]].sum(1)
        may = bitmap[b, np.arange(length), sequences].all(1)
        [label] = np.flatnonzero((sequences == labels[b, :length]).all(1))
        total = unary + binary
        expected = {
            "`crf_log_likelihood`": [total[label] - np.logaddexp.reduce(total)],
            "`crf_sequence_score`": [total[label]],
            "`crf_log_norm`": [np.logaddexp.reduce(total)],
            "`crf_unary_score`": [unary[label]],
            "`crf_binary_score`": [binary[label]],
            "`crf_multitag_sequence_score`": [np.logaddexp.reduce(total[may])],
            "`crf_decode`": [sequences[total.argmax()], total.max()],
            "`crf_constrained_decode`": [sequences[may][total[may].argmax()], total[may].max()],
        }
        for name, values in expected.items():
            for value, found in zip(values, cells[name], strict=True):
                found = found[b] if found.shape.rank == 1 else found[b, :length]
                np.testing.assert_allclose(found, value, atol=1e-5, err_msg=name)


def test_attention_of_the_old_mechanisms(page):
    names, _ = page
    attention = names["Attention"]("general")
    query, memory, mask = (names[n] for n in ("query", "memory", "memory_mask"))
    context, weights = attention(query, memory, mask=mask)
    [kernel] = attention.get_weights()
    for b, length in enumerate((5, 3)):  # LuongAttention: the memory is projected to the width of the query
        scores = (memory[b, :length].numpy() @ kernel) @ query[b].numpy()
        expected = np.exp(scores) / np.exp(scores).sum()
        np.testing.assert_allclose(weights[b, :length], expected, atol=1e-5)
        np.testing.assert_allclose(context[b], expected @ memory[b, :length].numpy(), atol=1e-5)
    assert names["alignment_history"].shape == (2, 3, 5)
    np.testing.assert_allclose(names["alignment_history"][1, :, 3:], 0)


def test_the_wrapper_queries_after_the_step_whatever_the_mechanism(page):
    """TensorFlow Addons' `AttentionWrapper` queries with the output of the cell, even for Bahdanau's score."""
    names, cells = page
    after, before = cells["`AttentionWrapper(cell, mechanism)`"]
    assert (type(after), type(before)) == (names["LuongDecoder"], names["AttentionDecoder"])
    memory, mask, tokens = (names[n] for n in ("memory", "memory_mask", "tokens"))
    for decoder in (after, before):
        decoder(tokens, memory, summary=memory[:, 0], mask=mask)
        prepared, start = decoder.begin(memory, mask, memory[:, 0])
        _, weights, then = decoder.step(tokens[:, 0], start, prepared)
        queried = then if decoder is after else start
        np.testing.assert_allclose(weights, decoder.attention(queried.cell[0], memory, mask=mask)[1], atol=1e-6)


def test_a_mask_is_lost_where_keras_joins_it_with_an_unmasked_input(page):
    """As on the page: `Concatenate` loses the mask, and `mask=` of the CRF solves that."""
    names, _ = page
    keras, crf = names["keras"], names["CRF"]
    words = keras.Input((None,), dtype="int32")
    spelled = keras.Input((None, 4))
    joined = keras.layers.Concatenate()([keras.layers.Embedding(9, 4, mask_zero=True)(words), spelled])
    lost = keras.Model([words, spelled], crf(3)(joined)["mask"])
    kept = keras.Model([words, spelled], crf(3)(joined, mask=keras.ops.not_equal(words, 0))["mask"])
    given = [np.array([[5, 3, 0]]), np.ones([1, 3, 4], "float32")]
    assert lost(given).numpy().tolist() == [[True, True, True]]
    assert kept(given).numpy().tolist() == [[True, True, False]]
