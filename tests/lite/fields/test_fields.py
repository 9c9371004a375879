"""Every field: its Python half and its graph half read and reject the same values, and JSON restores the field."""

import functools
import io

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image as Pillow
from support.sounds import wav
from support.strangers import Date

from seqattn_tf.checks.field import FieldChecks
from seqattn_tf.inputs import graph_field
from seqattn_tf.inputs.tree import parse
from seqattn_tf.lite.fields import Clip, Field, Image, Lines, Map, ParsedWords, Sound, Text, TreeText, Words
from seqattn_tf.lite.fields.base import load_fields, read_row
from seqattn_tf.lite.fields.image import shares
from seqattn_tf.lite.text import SymbolRules, Texts
from seqattn_tf.training.data.stored import Stored

WORDS = SymbolRules(("the", "cat", "sat", "\n"), tokenizer="spaces", unknown=True)
TOKENS = SymbolRules(("the", "cat", "n't", ".", "sat"), tokenizer="tokens", lowercase=True, unknown=True)
PARSED = SymbolRules(("sat", "The", "cat", "it"), tokenizer="tokens", unknown=True)
LETTERS = SymbolRules(tuple("aceht.'\u00e9"), unknown=True)


def picture(mode="RGB", kind="PNG", size=(37, 50), **how):
    noise = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    smooth = Pillow.fromarray(noise).resize(size[::-1], Pillow.Resampling.BICUBIC)
    data = io.BytesIO()
    smooth.convert(mode).save(data, kind, **how)
    return data.getvalue()


def deep():
    data = io.BytesIO()
    Pillow.fromarray((np.arange(81).reshape(9, 9) * 809).astype(np.uint16)).save(data, "PNG")
    return data.getvalue()


PICTURES = [
    *(picture(mode) for mode in ("RGB", "L", "RGBA", "P", "LA", "1")),
    *(picture(mode, "JPEG") for mode in ("RGB", "L", "CMYK")),
    picture("RGB", "JPEG", progressive=True, quality=50),
    picture("RGB", "BMP"),
    picture(size=(1, 1)),
    picture(size=(3, 200)),
    deep(),
]
TEXTS = ["the cat", "", "  ", "a dog sat", "the\tcat \n sat", b"\xff the", "\ue000"]
STORIES = ["the cat\nsat", "", "\n\n", "the", " the \r\n\r\n cat\n", "a\vb\n\n\nsat dog", b"\xff\nthe"]
SENTENCES = [
    "The cat.\n",
    "The cat.\nIt sat",
    b"\xffMr. x\ny.",
    b"\xffx\ny.",
    "a\u00a0b\nc",
    "a\tb\nc",
    "The cat didn't.",
    "",
    " \n",
    "The\ncat.\n",
    "cat.\n",
    "caf\u00e9s \u00ad x",
    b"\xff the",
    "abcdefgh",
    "a\0b\n\0",
]
TREES = [
    "(what)",
    "()",
    "(it sat)",
    "(the cat sat)",
    "(1 (2 The) (0 cat))",
    "",
    "the",
    "(3 cat)",
    "a cat sat.",
    "(a (b (c x) (d y)) (e (f z) (g cat)))",
    "the cat sat on it",
]
DOCUMENTS = ["The cat sat. The cat? sat!\nIt sat.", "Mr. Cat sat. B. Cat", "", "the\r\n\r\ncat."]
SOUNDS = [
    wav("<i2"),
    wav("u1"),
    wav("i3", channels=2),
    wav("<i4", rate=16_000),
    wav("<f4", rate=44_100, channels=2),
    wav("<f8", rate=11_025),
    wav("<i2", rate=47_990, extensible=True),
    wav("<i2", extra=b"LIST" + (5).to_bytes(4, "little") + b"INFO!\0"),
    wav("<i2", size=0xFFFFFFFF),
    wav("<i2", samples=0),
    wav("<i2", samples=1),
    wav("<i2", loud=0),
    wav("<i2") + b"tail",
]


def gif(count, size=(12, 16), moving=False, **how):
    """Return a GIF of noise, or of a square that moves over a background, which a GIF stores as partial frames."""
    generator = np.random.default_rng(count)
    frames = []
    for number in range(count):
        pixels = np.zeros([*size, 3], np.uint8) + 40 if moving else generator.integers(0, 256, [*size, 3], np.uint8)
        pixels[2:6, number : number + 4] = [200, 30, 90]
        frames.append(Pillow.fromarray(pixels).quantize(64))
    data = io.BytesIO()
    frames[0].save(data, "GIF", save_all=True, append_images=frames[1:], **how)
    return data.getvalue()


CLIPS = [
    gif(3),
    gif(1),
    gif(5, moving=True),
    gif(5, moving=True, optimize=False, disposal=2),
    gif(2, (3, 40), comment=b"of two frames", loop=0),
    picture(size=(12, 16 * 4)),
    picture("RGB", "JPEG", size=(30, 44)),
    picture("L", size=(12, 5)),
]
VALUES = {
    "text": (Text(WORDS, 6), TEXTS),
    "letters": (Text(SymbolRules(tuple("abc"), lowercase=True, strip_accents=True), 6), ["aB\u00e1", "", "xyz", "c"]),
    "lines": (Lines(WORDS, 6), STORIES),
    "sentences": (Lines(TOKENS, 20, split_sentences=True), DOCUMENTS),
    "words": (Words(TOKENS, LETTERS, 6, max_word_length=5), SENTENCES),
    "parsed": (ParsedWords(TOKENS, PARSED, LETTERS, 6, max_word_length=5), SENTENCES),
    "tree": (TreeText(TOKENS, 5), TREES),
    "image": (Image(14, 10), PICTURES),
    "sound": (Sound(n_mels=12, frames_per_position=2), SOUNDS),
    "padded image": (Image(14, 40, pad=True), PICTURES),
    "clip": (Clip(6, 8, limit=6), CLIPS),
    "map": (Map(2, 3, 2), [np.arange(12).astype("<f2").tobytes(), np.full(12, -1.5, "<f2").tobytes()]),
    "date": (Date(), ["2024-02-29", "1999-12-31"]),
}


@pytest.fixture(params=VALUES)
def case(request):
    return VALUES[request.param]


@functools.cache
def checks(name):
    """Return the checks of a field; its graph is traced once for valid and invalid values."""
    field, values = VALUES[name]
    return FieldChecks(field, values=values)


@functools.cache  # fields are compared by identity
def traced(field):
    return tf.function(graph_field(field, "it").read, [tf.TensorSpec([None], tf.string)], autograph=False)


def read(field, values):
    return traced(field)(tf.constant([field.raw(value) for value in values]))


@pytest.mark.parametrize("name", FieldChecks.all_names())
@pytest.mark.parametrize("field", VALUES)
def test_what_every_field_must_do(field, name):
    assert checks(field).run(name).problem == ""


def test_what_a_server_pads_with_is_not_read(case):
    field, values = case
    graph = graph_field(field, "it")
    lengths = [len(next(iter(field.arrays(value).values()))) for value in values]
    few = [values[np.argmax(lengths)], values[np.argmin(lengths)]]
    sent = graph.to_wire(tf.constant([field.raw(value) for value in few]))
    if "lengths" not in sent or "children" in sent:
        return
    dirty = {part: tf.where(tensor == 0, 1, tensor) for part, tensor in sent.items() if part != "lengths"}
    # A server may pad with any values.
    for part, tensor in graph.from_wire({**dirty, "lengths": sent["lengths"]}).items():
        beyond = np.arange(tensor.shape[1]) >= sent["lengths"].numpy()[:, None]
        assert beyond.any()
        assert not tensor.numpy()[beyond].any(), part


def test_a_column_gives_what_is_read(case):
    field, values = case
    graph = graph_field(field, "it")
    texts = [value for value in values if isinstance(value, str)] or values
    column = graph.column(Texts(texts) if isinstance(texts[0], str) else texts)
    order = [len(texts) - 1, 0]
    expected = graph.encode(tf.constant([field.raw(texts[i]) for i in order]))
    assert len(column.lengths) == len(texts)
    for part, tensor in column.rows(tf.constant(order)).items():
        np.testing.assert_allclose(tensor, expected[part], atol=1e-6)


MALFORMED = ["(1 ())", "(1 (2 a))", "(1 (2 a) b)", "(1 (2 a) (3 b)", "(1 (2 (3 a) (4 b)))", "(1 (2 a) (3 b c))"]
MALFORMED += ["(1 (2 a) (3 b) (4 c))", "(1 (2 a) (3 b)))", "(1 (2 a) ((3 b) (4 c)))", "(1 (2 a) (3))"]
MALFORMED += ["(1 (2 a (3 b) (4 c)) (5 d))", "(1 (2 a) b (3 c))", "(1 (2 a) (3 b) c)", "(1 (2 a b) (3 c))"]
REFUSED = [
    ("text", ["the " * 7], "at most 6 symbols"),
    ("lines", ["the\ncat\nsat\nsat"], "at most 6 symbols"),
    ("words", ["the " * 7], "at most 6"),
    ("words", ["the\n" * 7], "at most 6"),
    ("tree", ["the " * 6], "at most 5"),
    *[("tree", [wrong], "a tree of") for wrong in MALFORMED],
    ("image", [b""], "a JPEG, PNG or BMP picture"),
    ("image", [b"GIF89a" + bytes(20)], "a JPEG, PNG or BMP picture"),
    ("image", [picture("P", "BMP")], "a BMP picture of 24 bits"),
    ("image", [picture("1", "BMP")], "a BMP picture of 24 bits"),
    ("image", [picture()[:60]], ""),
    ("image", [picture("RGB", "JPEG")[:100]], ""),
    ("clip", [b""], "an animated GIF, or a strip"),
    ("clip", [b"GIF89a"], "an animated GIF, or a strip"),
    ("clip", [b"BM" + bytes(60)], "an animated GIF, or a strip|a BMP picture"),
    ("clip", [gif(3)[:-1]], "an animated GIF, or a strip .*corrupt"),
    ("clip", [gif(3)[:400]], "an animated GIF, or a strip .*corrupt"),
    ("clip", [gif(3)[:13] + b";"], "an animated GIF, or a strip .*corrupt"),
    ("clip", [gif(7)], "a clip of at most 6 frames"),
    ("clip", [picture(size=(12, 16 * 7))], "a clip of at most 6 frames"),
    ("sound", [b""], "a WAV sound"),
    ("sound", [b"RIFF"], "a WAV sound"),
    ("sound", [picture()], "a WAV sound"),
    ("sound", [wav("<i2")[:30]], "a WAV sound of .*truncated"),
    ("sound", [wav("<i2")[:-1]], "a WAV sound of .*truncated"),
    ("sound", [wav("<i2", extra=b"LIST" + b"\xff" * 4)], "a WAV sound of .*truncated"),
    ("sound", [wav("<i2", tag=2)], "a WAV sound of .*format"),
    ("sound", [wav("<i2", bits=12)], "a WAV sound of .*format"),
    ("sound", [wav("<i2", rate=3_999)], "1 to 8 channels and 4000 to 192000 hertz"),
    ("sound", [wav("<i2", channels=9)], "1 to 8 channels"),
    ("sound", [wav("<i2", channels=0)], "1 to 8 channels"),
    ("sound", [wav("<f4", loud=np.nan)], "finite samples"),
    ("sound", [wav("<i2", samples=240_001)], "a sound of at most 30 seconds"),
    ("date", ["2024-13-01"], "YYYY-MM-DD"),
]


@pytest.mark.parametrize(("kind", "values", "words"), REFUSED)
def test_both_halves_refuse_the_same(kind, values, words):
    field, good = VALUES[kind]
    with pytest.raises(ValueError, match=f"^expected .*{words}"):
        field.arrays(values[0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"it: expected {words}" if words else ""):
        checks(kind).read(tf.constant([field.raw(value) for value in (good[0], *values)]))


def test_a_large_picture_is_refused_before_it_is_decoded():
    """The header suffices: the rest of the file is missing."""
    field = Image(4, 4, limit=100)
    for data in (picture(), picture("RGB", "JPEG"), picture("RGB", "BMP")):
        head = data[: len(data) * 3 // 4]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"it: expected a picture of at most 100 pixels"):
            read(field, [head])
        with pytest.raises(ValueError, match=r"expected a picture of at most 100 pixels\. Received: 50 x 37"):
            field.arrays(data)
    wide = bytearray(picture())
    wide[16:24] = (2**31 - 1).to_bytes(4, "big") * 2  # the product of the two exceeds 32 bits
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected a picture of at most"):
        read(Image(4, 4), [bytes(wide)])


def test_a_bmp_from_the_top_down_is_a_picture_like_another():
    """Its header contains a negative height."""
    data = bytearray(picture("RGB", "BMP"))
    data[22:26] = (-37).to_bytes(4, "little", signed=True)
    field = Image(6, 5)
    np.testing.assert_allclose(
        read(field, [bytes(data)]).tensors["pixels"][0], field.arrays(bytes(data))["pixels"], atol=1e-2
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"it: expected a picture of at most 100 pixels"):
        read(Image(6, 5, limit=100), [bytes(data)])
    with pytest.raises(ValueError, match=r"expected a picture of at most 100 pixels\. Received: 50 x 37"):
        Image(6, 5, limit=100).arrays(bytes(data))


def test_shrinking_keeps_the_mean_and_growing_keeps_the_corners():
    assert np.allclose(shares(50, 7).sum(axis=1), 1)
    np.testing.assert_allclose(shares(5, 5), np.eye(5), atol=1e-6)
    grey = np.full([9, 4, 3], 77, np.uint8)
    data = io.BytesIO()
    Pillow.fromarray(grey).save(data, "PNG")
    assert Image(3, 11).arrays(data.getvalue())["pixels"] == pytest.approx(77)
    outside = Pillow.fromarray(np.asarray(Pillow.open(io.BytesIO(picture())))).resize(
        (10, 14), Pillow.Resampling.BILINEAR
    )
    np.testing.assert_allclose(Image(14, 10).arrays(picture())["pixels"], np.asarray(outside, np.float32), atol=1.01)


def test_lengths_decide_and_padding_does_not():
    """A server may pad a batch with any values."""
    graph = graph_field(Text(WORDS, 6), "text")
    sent = {"ids": tf.constant([[4, 5, 4, 4], [6, 6, 6, 6]]), "lengths": tf.constant([2, 4])}
    assert graph.from_wire(sent)["ids"].numpy().tolist() == [[4, 5, 0, 0], [6, 6, 6, 6]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="text_ids: expected at most 6 symbols"):
        graph.from_wire({"ids": tf.ones([1, 7], tf.int32), "lengths": tf.constant([7])})


def test_many_blanks_and_one_long_text_cost_little():
    """The time must not be quadratic, and a batch must not be padded before the limit is checked."""
    field = Lines(WORDS, 6)
    assert field.positions("the" + " " * 200_000 + "cat") == ("the", "cat")
    with pytest.raises(tf.errors.InvalidArgumentError, match="it: expected at most 6 symbols, received"):
        read(field, ["the " * 100_000, *["the"] * 300])  # would be 30 million strings with padding


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 64])
@pytest.mark.parametrize("split", ["characters", "letters", "spaces", "words", "subwords"])
def test_what_is_made_up_is_never_too_long(split, limit):
    texts = ["a man, asleep", "low\nlower slow", "a b"]
    for kind in (Text, Lines):
        field = kind.learn(texts, tokenizer=split, limit=limit, vocabulary=14)
        lengths = [len(field.arrays(value)["ids"]) for value in [*field.sample_inputs(40), *field.edge_cases()]]
        assert max(lengths) == limit  # the limit is reached


def test_values_of_any_form_are_learned_from_and_read(tmp_path):
    (tmp_path / "story.txt").write_text("the cat\nsat")
    values = [["the cat", "sat"], b"the cat\nsat", "the cat\nsat", Stored(tmp_path / "story.txt")]
    field = Lines.learn(values, tokenizer="spaces")
    rows = graph_field(field, "it").column(values).rows(tf.range(4))["ids"].numpy()
    assert (rows == rows[0]).all()
    assert rows[0].tolist() == field.arrays(values[0])["ids"].tolist()


def test_lines_may_be_a_list_and_need_their_mark():
    field = Lines(WORDS)
    assert field.raw(["the cat", b"sat"]) == b"the cat\nsat"
    assert field.sizes == {"vocabulary": WORDS.size, "mark": WORDS.ids["\n"]}
    with pytest.raises(ValueError, match="expected training texts with several lines"):
        _ = Lines(SymbolRules(("a",))).sizes
    learned = Lines.learn(["a b\nb", "b"], tokenizer="spaces")
    assert set(learned.rules.symbols) == {"a", "b", "\n"}


def test_wrong_values_and_names():
    with pytest.raises(ValueError, match=r"expected text or bytes\. Received: 3"):
        Text(WORDS).raw(3)
    with pytest.raises(ValueError, match="field: expected one of"):
        load_fields([{"name": "x", "field": "smell", "config": {}}])
    with pytest.raises(ValueError, match="limit: expected a positive integer"):
        Text(WORDS, 0)
    with pytest.raises(ValueError, match="height: expected a positive integer"):
        Image(0, 3)
    assert {"text", "lines", "image", "date"} <= Field.registry.keys()


def test_what_a_row_is_refused_for_is_said_with_the_name_of_the_input(tmp_path):
    fields = {"story": Text(WORDS, limit=2), "picture": Image(2, 2)}
    good = {"story": "the cat", "picture": picture()}
    assert sorted(read_row(fields, good)) == ["picture_pixels", "story_ids"]
    for row, words in (
        ({"story": "the cat sat"}, "^story: expected at most 2 symbols"),
        ({"picture": b"no picture"}, "^picture: expected a JPEG"),
        ({"picture": Stored(tmp_path / "nowhere.png")}, "^picture: .*nowhere"),
    ):
        with pytest.raises(ValueError, match=words):
            read_row(fields, {**good, **row})


def test_a_list_of_words_is_left_as_it_is_and_running_text_with_line_breaks_is_not():
    field, _ = VALUES["words"]
    assert field.positions(field.raw(["The cat", "sat."])) == ("The\u00a0cat", "sat.")
    assert field.positions(field.raw(["sat."])) == ("sat.",)
    assert field.positions("The cat sat.\n") == ("The", "cat", "sat", ".")
    assert field.display(["The", "cat", "."]) == b"The cat ."
    assert field.display(["The", "cat."]) == b"The\ncat.\n"
    for wrong in (["a", ""], ["a\nb"]):
        with pytest.raises(ValueError, match="expected non-empty words without line breaks"):
            field.raw(wrong)
    with pytest.raises(ValueError, match=r"expected text or bytes\. Received: 3"):
        field.raw(["a", 3])
    with pytest.raises(ValueError, match="rules: expected a vocabulary with an id for unknown words"):
        Words(SymbolRules(("a",)), LETTERS)
    with pytest.raises(ValueError, match="rules: expected a vocabulary with an id for unknown words"):
        TreeText(SymbolRules(("a",)))


def test_many_brackets_are_refused_before_they_are_paired():
    field, _ = VALUES["tree"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="it: expected a tree of at most 9 nodes, received"):
        read(field, ["(a (b " + "(c " * 50_000 + "x" + ")" * 50_002])


def test_long_trees_are_in_a_column_and_left_out_by_their_length():
    field, _ = VALUES["tree"]
    assert graph_field(field, "it").column(["the cat", "the " * 9]).lengths.tolist() == [3, 17]


def test_sentences_never_join_the_lines_that_were_given():
    field, _ = VALUES["sentences"]
    assert field.positions(["Plan A.", "Go on, J. R. Cat. Now!"], "lines") == ("Plan A.", "Go on, J. R. Cat.", "Now!")
    assert field.positions("." * 100_000 + "x", "lines") == ("." * 100_000 + "x",)  # must be fast


@pytest.mark.parametrize("wrong", MALFORMED)
def test_a_tree_that_one_half_refuses_the_other_refuses_too(wrong):
    """For example, a word before the two children of its node."""
    with pytest.raises(ValueError, match=r"^expected a tree of"):
        VALUES["tree"][0].arrays(wrong)
    symbols = wrong.replace("(", " ( ").replace(")", " ) ").split()
    with pytest.raises(tf.errors.InvalidArgumentError, match="it: expected a tree of"):
        parse(tf.constant([symbols]), "it")


@pytest.mark.parametrize("split", ["characters", "words", "spaces", "tokens"])
def test_sample_inputs_of_an_empty_vocabulary(split):
    """`sample_inputs` must not fail with "Cannot choose from an empty population"."""
    for kind in (Text, Lines):
        field = kind(SymbolRules((), tokenizer=split), 8)
        assert all(field.arrays(text) and text for text in field.sample_inputs(3))
        assert len(field.sample_inputs(3)) == 3
