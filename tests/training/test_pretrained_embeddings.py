"""Word vectors: all file formats, all kinds of errors, and the assignment of vectors to words."""

import dataclasses
import gzip
import io
import lzma
import struct

import keras
import numpy as np
import pytest

from seqattn_tf.lite.fields import Lines, Text
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.training import recipes
from seqattn_tf.training.data import Examples, from_text
from seqattn_tf.training.metrics import EXACT
from seqattn_tf.training.pretrained_embeddings import EXPECTED, Vectors, read, read_vectors
from seqattn_tf.training.tasks import PairSettings, PairTask
from seqattn_tf.training.tasks.settings import TextSettings

WORDS = ["the", "caf\u00e9", ". . .", "\u7537", "the"]
TABLE = np.array([[1, 2.5], [-3e-3, 4], [5, 6], [7, 8], [9, 9]], np.float32)
ROWS = {"the": 0, "caf\u00e9": 1, ". . .": 2, "\u7537": 3}


def text(words, table, header=True, end="\n"):
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, table.tolist(), strict=True)]
    return "".join(line + end for line in ([f"{len(words)} {table.shape[1]}"] if header else []) + lines).encode()


def binary(words, table, end=b"\n"):
    rows = (word.encode() + b" " + row.astype("<f4").tobytes() + end for word, row in zip(words, table, strict=True))
    return f"{len(words)} {table.shape[1]}\n".encode() + b"".join(rows)


def npz(**arrays):
    data = io.BytesIO()
    np.savez(data, **arrays)
    return data.getvalue()


FORMS = {
    "glove.txt": text(WORDS, TABLE, header=False),
    "words.vec": text(WORDS, TABLE),
    "crlf.txt": text(WORDS, TABLE, end="\r\n"),
    "marked.txt": b"\xef\xbb\xbf" + text(WORDS, TABLE),
    "blank.txt": text(WORDS, TABLE).replace(b"\n", b"\n\n"),
    "once.bin.txt": text(WORDS, TABLE),
    "plain.bin": text(WORDS, TABLE, header=False),
    "both.npz": npz(words=np.array(WORDS), vectors=TABLE.astype(np.float64)),
    "bytes.npz": npz(words=np.array([word.encode() for word in WORDS]), vectors=TABLE),
    "scaled.npz": npz(words=np.array(WORDS), q=np.sign(TABLE).astype(np.int8), scale=np.abs(TABLE)),
}


PACKINGS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}


@pytest.mark.parametrize(
    ("name", "packing"),
    [(name, packing) for name in FORMS for packing in PACKINGS if ".npz" not in name or not packing],
)
def test_forms_and_packings(tmp_path, name, packing):
    path = tmp_path / (name + packing)
    path.write_bytes(PACKINGS[packing](FORMS[name]))
    vectors = read(path)
    assert vectors.rows == ROWS
    assert vectors.table.dtype == np.float32
    np.testing.assert_array_equal(vectors.table, TABLE)
    assert vectors.size == 2


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("end", [b"\n", b""])
def test_the_binary_form(tmp_path, end, packing):
    words = [word.replace(" ", "_") for word in WORDS]
    path = tmp_path / f"words.bin{packing}"
    path.write_bytes(PACKINGS[packing](binary(words, TABLE, end)))
    vectors = read(str(path))
    assert vectors.rows == {word.replace(" ", "_"): row for word, row in ROWS.items()}
    np.testing.assert_array_equal(vectors.table, TABLE)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("v.txt", b"", f": {EXPECTED}. Received: 0 words and numbers (0, 0)"),
        ("v.txt", b"\n \n", f": {EXPECTED}. Received: 0 words and numbers (0, 0)"),
        ("v.txt", b"2 3\n", f": {EXPECTED}. Received: 0 words and numbers (0, 3)"),
        ("v.txt", b"the\n", ", vector 1: expected 0 numbers. Received: b'the\\n'"),
        ("v.txt", b"a 1 2\nb 1\n", ", vector 2: expected 2 numbers. Received: b'b 1\\n'"),
        ("v.txt", b"3 2\na 1 2\n\nb 1\n", ", vector 2: expected 2 numbers. Received: b'b 1\\n'"),
        ("v.txt", b"a 1 2\nb 1 two\n", ", vector 2: expected numbers. Received: b'b 1 two\\n'"),
        ("v.txt", b"a 1 2\nb  1 2\nc 1  2\n", ", vector 3: expected numbers. Received: b'c 1  2\\n'"),
        ("v.txt", b"a 1 2\nb 1 nan\n", ": expected finite numbers. Received: NaN or infinity for 'b'"),
        ("v.txt", b"a 1 2\nb inf 1\n", ": expected finite numbers. Received: NaN or infinity for 'b'"),
        ("v.txt", b"a 1 2\nb 1e39 1\n", ": expected finite numbers. Received: NaN or infinity for 'b'"),
        ("v.txt", b"a 1 2\n\xff 1 2\n", f": {EXPECTED}. Received: UnicodeDecodeError"),
        ("v.txt.gz", b"a 1 2\n", ": expected a complete .gz file"),
        ("v.txt.gz", gzip.compress(b"a 1 2\n" * 99)[:-9], ": expected a complete .gz file"),
        ("v.txt.xz", lzma.compress(b"a 1 2\n")[:-9], ": expected a complete .xz file"),
        (
            "v.txt",
            b"3 2\na 1 2\nb 3 4\n",
            ": expected 3 vectors, as declared in its first line. Received: 2",
        ),  # cut off
        ("v.bin", b"0 2\n", f": {EXPECTED}. Received: 0 words and numbers (0, 2)"),
        ("v.bin", b"1 0\na \n", f": {EXPECTED}. Received: 1 words and numbers (1, 0)"),
        ("v.bin", b"2 2\na 12345678\nb 1234", ": expected 2 vectors. Received: 1; the file is truncated"),
        ("v.bin", b"2 2\na 12345678\nb", ": expected 2 vectors. Received: 1; the file is truncated"),
        (
            "v.bin",
            b"1 1\na " + struct.pack("<f", np.nan),
            ": expected finite numbers. Received: NaN or infinity for 'a'",
        ),
        ("v.npz", b"", f": {EXPECTED}. Received: EOFError"),
        ("v.npz", b"the 1 2\n", f": {EXPECTED}. Received: ValueError"),
        ("v.npz", npz(words=np.array(["a"]), vectors=np.ones([1, 2]))[:99], f": {EXPECTED}. Received: BadZipFile"),
        ("v.npz", npz(vectors=np.ones([1, 2])), f": {EXPECTED}. Received: KeyError: 'words is not a file"),
        ("v.npz", npz(words=np.array(["a"]), q=np.ones([1, 2])), f": {EXPECTED}. Received: KeyError: 'scale is not"),
        ("v.npz", npz(words=np.array(["a", "b"]), vectors=np.ones([1, 2])), ". Received: 2 words and numbers (1, 2)"),
        ("v.npz", npz(words=np.array(["a"]), vectors=np.ones(1)), ". Received: 1 words and numbers (1,)"),
        ("v.npz", npz(words=np.array("a"), vectors=np.ones([1, 2])), f": {EXPECTED}. Received: TypeError"),
        ("v.npz", npz(words=np.array(["a"]), vectors=np.array([["x"]])), f": {EXPECTED}. Received: ValueError"),
        ("v.npz", npz(words=np.array(["a"]), vectors=np.array([[1e39]])), ": expected finite numbers"),
    ],
    ids=lambda value: "bytes" if isinstance(value, bytes) else None,  # compressed files contain the time
)
def test_a_damaged_file_is_refused(tmp_path, name, data, said):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=r"v\.") as error:
        read(tmp_path / name)
    assert said in str(error.value)
    assert str(error.value).startswith(str(tmp_path / name))


class Trap:
    """Does harm when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was opened",)


def test_pickles_are_never_opened(tmp_path):
    held = np.empty(1, object)
    held[0] = Trap()
    for arrays in ({"words": held, "vectors": TABLE[:1]}, {"words": np.array(["a"]), "vectors": held}):
        (tmp_path / "v.npz").write_bytes(npz(**arrays))
        with pytest.raises(ValueError, match=r"v\.npz: expected word vectors.*Object arrays cannot be loaded"):
            read(tmp_path / "v.npz")


def test_no_file_and_no_wish_for_one(tmp_path):
    with pytest.raises(
        ValueError, match=r"pretrained_embeddings: expected an existing file\. Received: .*nowhere\.txt"
    ):
        read(tmp_path / "nowhere.txt")
    with pytest.raises(ValueError, match=r"pretrained_embeddings: expected an existing file\. Received: "):
        read(tmp_path)
    assert read_vectors(TextSettings()) is None
    (tmp_path / "v.txt").write_bytes(FORMS["glove.txt"])
    assert read_vectors(TextSettings(pretrained_embeddings=str(tmp_path / "v.txt"))).rows == ROWS


def made(*words, size=3):
    table = np.random.default_rng(1).normal(size=(len(words), size)).astype(np.float32)
    return Vectors({word: row for row, word in enumerate(words)}, table)


def test_a_wider_vocabulary_begins_with_the_known_one():
    field = Text(SymbolRules(("dog", "zebra"), "tokens", unknown=True), 9)
    vectors = made("the", "dog", "Dog", "a b", "cat")
    wider, settings = vectors.widen(field, TextSettings(units=7))
    assert wider.rules == SymbolRules(("dog", "zebra", "the", "Dog", "a b", "cat"), "tokens", unknown=True)
    assert [wider.rules.ids[word] for word in field.rules.symbols] == [field.rules.ids[w] for w in ("dog", "zebra")]
    assert wider.limit == 9
    assert settings == TextSettings(units=7, embedding=3)
    assert field.rules.symbols == ("dog", "zebra")


@pytest.mark.parametrize(("count", "extra"), [(0, ()), (1, ("the",)), (2, ("the", "cat")), (9, ("the", "cat", "ox"))])
@pytest.mark.parametrize("unknown", [False, True])
def test_no_more_words_come_in_than_may(count, extra, unknown):
    """Known words do not count; if words are added, there are unknown ones."""
    field = Text(SymbolRules(("dog",), "spaces", unknown=unknown))
    wider, _ = made("dog", "the", "cat", "ox").widen(field, TextSettings(max_pretrained_words=count))
    assert wider.rules == SymbolRules(("dog", *extra), "spaces", unknown=unknown or count > 0)


@pytest.mark.parametrize(
    ("how", "extra"),
    [
        ({}, ("Dog", "Caf\u00e9", "cafe", "THE", "the")),
        ({"lowercase": True}, ("caf\u00e9", "cafe", "the")),
        ({"lowercase": True, "strip_accents": True}, ("cafe", "the")),
    ],
)
def test_words_come_in_as_the_rules_fold_them(how, extra):
    field = Text(SymbolRules(("dog",), "tokens", unknown=True, **how))
    wider, _ = made("Dog", "Caf\u00e9", "cafe", "THE", "the", "\u200b" if how else "dog").widen(field, TextSettings())
    assert wider.rules.symbols == ("dog", *extra)


def test_words_of_running_text_come_in_with_their_space():
    field = Text(SymbolRules(("\u2581dog", ","), "words", True, unknown=True))
    wider, _ = made("The", "dog", ",", " ").widen(field, TextSettings())
    assert wider.rules.symbols == ("\u2581dog", ",", "\u2581the", "\u2581,")


@pytest.mark.parametrize("split", ["characters", "letters", "subwords"])
def test_characters_and_pieces_stay_as_they_are(split):
    field = Text(SymbolRules(("a", "b"), split, unknown=True))
    wider, settings = made("a", "c", "the").widen(field, TextSettings())
    assert wider is field
    assert settings.embedding == 3


def test_a_field_keeps_what_else_it_is():
    field = Lines(SymbolRules(("\n", "dog"), "tokens", unknown=True), 70, split_sentences=True)
    wider, _ = made("the").widen(field, TextSettings())
    assert type(wider) is Lines
    assert (wider.limit, wider.split_sentences, wider.rules.symbols) == (70, True, ("\n", "dog", "the"))


def network_of(*sizes):
    network = keras.Sequential([keras.layers.Embedding(*size) for size in sizes])
    for layer, size in zip(network.layers, sizes, strict=True):
        layer.build((None, None))
        layer.embeddings.assign(np.full(size, -7.0))
    network.built = True
    return network


@pytest.mark.parametrize(
    ("rules", "rows"),
    [
        (SymbolRules(("the", "Dog", "zebra"), "tokens", unknown=True), {4: "the", 5: "dog"}),
        (SymbolRules(("DOG", "Paris"), "tokens"), {3: "dog", 4: "Paris"}),
        (SymbolRules(("paris", "the", "cafe"), "tokens", True), {3: "Paris", 4: "the"}),
        (SymbolRules(("cafe", "paris"), "tokens", True, True), {3: "Caf\u00e9", 4: "Paris"}),
        (
            SymbolRules(("\u2581the", "dog", "\u2581", "\u2581paris"), "words", True),
            {3: "the", 4: "dog", 6: "Paris"},
        ),
    ],
)
def test_vectors_come_to_the_words_they_belong_to(rules, rows):
    """Unchanged, in lower case, or with the words of the file folded by the rules; the first match counts."""
    vectors = made("the", "dog", "Paris", "PARIS", "Caf\u00e9")
    network = network_of((rules.size + 1, 3), (rules.size, 4), (rules.size, 3), (rules.size, 3))
    vectors.begin(network, rules)
    first, second, table, last = (layer.embeddings.numpy() for layer in network.layers)
    for row, word in rows.items():
        np.testing.assert_array_equal(table[row], vectors.table[vectors.rows[word]])
    others = np.array([row for row in range(rules.size) if row not in rows])
    assert not np.isin(table[others], [*vectors.table.ravel(), -7.0]).any()
    assert all((array == -7).all() for array in (first, second, last))
    again = network_of((rules.size, 3))
    vectors.begin(again, rules)
    np.testing.assert_array_equal(again.layers[0].embeddings, table)  # the same in every run


def test_other_symbols_are_spread_as_the_vectors_are():
    rules = SymbolRules(tuple(f"w{i}" for i in range(1000)), "tokens")
    vectors = Vectors({"w0": 0, "w1": 1, "far": 2}, np.array([[0.1] * 20, [-0.1] * 20, [900] * 20], np.float32))
    network = network_of((rules.size, 20))
    vectors.begin(network, rules)
    assert network.layers[0].embeddings.numpy()[5:].std() == pytest.approx(0.1, rel=0.05)


def test_vectors_that_fit_nothing_are_refused():
    rules = SymbolRules(("the", "dog"), "tokens")
    with pytest.raises(
        ValueError,
        match=r"pretrained_embeddings: expected vectors for words such as \('the', 'dog'\)\. Received: none of",
    ):
        made("le", "chien").begin(network_of((5, 3)), rules)
    with pytest.raises(
        ValueError, match=r"pretrained_embeddings: expected an embedding layer of shape \[5, 3\]\. Received: none"
    ):
        made("the").begin(network_of((5, 4)), rules)


def test_a_tagger_begins_with_vectors_and_knows_words_of_the_file(tmp_path):
    vectors = made("Dog", "the", "platypus", "zebra", size=6)
    (tmp_path / "v.txt").write_bytes(text(vectors.rows, vectors.table))
    recipe = recipes.get("tag")
    settings = dataclasses.replace(
        recipe.small,
        units=4,
        min_count=1,
        letter_embedding_dim=6,
        pretrained_embeddings=str(tmp_path / "v.txt"),
        max_pretrained_words=1,
    )
    train = Examples([from_text("the\ndog\ngo\n", "D N V"), from_text("do\nodd\n", "V N")])
    model = recipe.task.build(settings, train)
    rules = model.inputs["text"].rules
    assert rules.symbols == ("do", "dog", "go", "odd", "the", "platypus")
    assert rules.encode("The platypus zebra") == [8, 9, 3]
    encoder = model.network.encoder
    words, letters = encoder.embedding.embeddings.numpy(), encoder.letter.embeddings.numpy()
    for word, row in {"dog": 0, "the": 1, "platypus": 2}.items():
        np.testing.assert_array_equal(words[rules.ids[word]], vectors.table[row])
    assert words.shape == letters.shape == (10, 6)  # must not be confused with each other
    assert not np.isin(letters, vectors.table).any()
    fixed = recipe.task.build(dataclasses.replace(settings, freeze_embeddings=True), train).network
    learned = {id(variable) for variable in fixed.trainable_variables}
    assert id(fixed.encoder.embedding.embeddings) not in learned
    assert len(learned) == len(model.network.trainable_variables) - 1
    known = [rules.ids[word] for word in ("dog", "the", "platypus")]
    np.testing.assert_array_equal(fixed.encoder.embedding.embeddings.numpy()[known], words[known])


def test_the_source_of_pairs_begins_with_vectors_not_the_target(tmp_path):
    vectors = made("the", "dog", size=6)
    (tmp_path / "v.txt").write_bytes(text(vectors.rows, vectors.table))
    cut = {"source_tokenizer": "spaces", "target_tokenizer": "spaces", "max_pretrained_words": 0}
    settings = PairSettings(units=4, embedding=5, pretrained_embeddings=str(tmp_path / "v.txt"), **cut)
    train = Examples([from_text("the dog", "the dog"), from_text("the", "the")])
    network = PairTask(metrics=[EXACT]).build(settings, train).network
    source = network.encoder.embedding.embeddings.numpy()
    [target] = (
        layer.embeddings.numpy()
        for layer in network._flatten_layers()
        if isinstance(layer, keras.layers.Embedding) and layer is not network.encoder.embedding
    )
    np.testing.assert_array_equal(source[3:], vectors.table)
    assert not np.isin(target, vectors.table).any()
    assert source.shape == target.shape == (5, 6)


def test_vectors_whole(shared_data):
    vectors = read(shared_data / "glove" / "glove100_subset_int8.npz")
    assert vectors.table.shape == (66_718, 100)
    cat, dog, law = (vectors.table[vectors.rows[word]] for word in ("cat", "dog", "law"))
    assert vectors.find("Dog") == vectors.rows["dog"]
    assert cat @ dog > 2 * (cat @ law)
