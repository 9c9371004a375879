"""Encoders of symbols: their inputs and outputs, and the positions of attention on them."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.encoders import (
    BidirectionalEncoder,
    DocumentEncoder,
    Encoder,
    FactsEncoder,
    ForwardEncoder,
    HeadsEncoder,
    LineEncoder,
    SummaryEncoder,
    TreeEncoder,
    WordEncoder,
)
from seqattn_tf.encoders.turns import fold, unfold

MARK = 9
SOURCE = np.array([[3, 4, MARK, 5, 6, 0], [7, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]], "int32")
SIZES = {
    "vocabulary": 10,
    "units": 6,
    "embedding": 4,
    "cell": "lstm",
    "depth": 2,
    "dropout": 0.25,
    "input_name": "story",
}
SPELLED = SOURCE[..., None] % np.array([5, 7, 2]) * (SOURCE[..., None] != 0)
CHILDREN = np.zeros([3, 6, 2], "int32")
CHILDREN[0, :4] = [[1, 2], [0, 0], [3, 4], [0, 0]]  # one word, and a phrase of two words
TENSORS = {
    "story_ids": tf.constant(SOURCE),
    "story_letters": tf.constant(SPELLED),
    "story_children": tf.constant(CHILDREN),
    "other_ids": tf.constant(SOURCE[:, :1]),
}


def made():
    yield BidirectionalEncoder(**SIZES)
    yield ForwardEncoder(**SIZES)
    yield LineEncoder(**SIZES, mark=MARK, max_lines=3, max_line_length=2)
    yield WordEncoder(**SIZES, letters=9, letter_embedding_dim=3, filters=5)
    yield HeadsEncoder(**SIZES, head_attention="softmax", projection_units=3)
    yield TreeEncoder(10, units=6, embedding=4, composition="child_sum", dropout=0.25, input_name="story")
    yield SummaryEncoder(BidirectionalEncoder(**SIZES), every_step=True, dropout=0.5)
    yield SummaryEncoder(ForwardEncoder(**SIZES), every_step=False)


@pytest.mark.parametrize("encoder", list(made()), ids=lambda encoder: type(encoder).__name__)
def test_every_encoder_keeps_the_contract(encoder):
    read = encoder(TENSORS)
    places = read.values.shape[1]
    assert read.values.shape == (3, places, encoder.output_size)
    assert (read.mask.shape, read.mask.dtype) == ((3, places), tf.bool)
    assert read.summary.shape == (3, encoder.summary_size)
    assert encoder.input_name == "story"
    assert encoder.input_lengths(TENSORS).numpy().tolist() == [5, 1, 0]
    assert not read.mask[2].numpy().any()  # an empty text has no positions to attend to
    if encoder.attendable:
        weights = encoder.to_positions(tf.cast(read.mask, tf.float32)[:, None], TENSORS)
        assert weights.shape == (3, 1, 6)
        assert weights.numpy()[1, 0].tolist() == [1, 0, 0, 0, 0, 0]
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(encoder))
    assert again.get_config() == encoder.get_config()
    again(TENSORS)
    again.set_weights(encoder.get_weights())
    np.testing.assert_allclose(again(TENSORS).values, read.values, atol=1e-6)
    trained = encoder(TENSORS, training=True)
    assert not np.allclose(trained.values, read.values)  # because of dropout


@pytest.mark.parametrize("encoder", [BidirectionalEncoder(10, 6), LineEncoder(10, MARK, units=6)])
def test_padding_changes_nothing(encoder):
    read, padded = (encoder({"text_ids": tf.constant(np.pad(SOURCE, [[0, 0], [0, n]]))}) for n in (0, 4))
    places = tf.shape(read.values)[1]
    np.testing.assert_allclose(padded.summary, read.summary, atol=1e-6)
    np.testing.assert_allclose(padded.values[:, :places], read.values, atol=1e-6)
    assert not padded.mask[:, places:].numpy().any()


@pytest.mark.parametrize("heads", ["softmax", "none", None])
def test_padding_of_words_and_of_their_letters_changes_nothing(heads):
    """Neither padding after the letters of a word nor padding after the words of a text changes the results."""
    encoder = WordEncoder(10, letters=9, units=6) if heads is None else HeadsEncoder(10, head_attention=heads, units=6)

    def read(words, letters):
        spelled = np.pad(SPELLED, [[0, 0], [0, words], [0, letters]])
        return encoder({"text_ids": np.pad(SOURCE, [[0, 0], [0, words]]), "text_letters": spelled})

    plain, padded = read(0, 0), read(4, 2)
    np.testing.assert_allclose(padded.summary, plain.summary, atol=1e-6)
    np.testing.assert_allclose(padded.values[:, :6], plain.values, atol=1e-6)


def test_what_one_step_sees_of_a_summary():
    encoder = BidirectionalEncoder(10, units=6)
    encoder.build()
    tensors = {"text_ids": tf.constant(SOURCE)}
    for every_step in (True, False):
        read = SummaryEncoder(encoder, every_step)(tensors)
        assert read.mask.numpy()[:, 0].tolist() == [every_step, every_step, False]
        np.testing.assert_allclose(read.values[:, 0], encoder(tensors).summary, atol=1e-6)


@pytest.mark.parametrize("kind", ["bidirectional", "hierarchical"])
def test_values_and_embeddings_are_dropped_in_training_alone(kind):
    more = {"mark": MARK, "max_line_length": 4} if kind == "hierarchical" else {}
    encoder = Encoder.get(kind, vocabulary=10, units=50, embedding=4, dropout=0.5, **more)
    tensors = {"text_ids": tf.constant([[3, 4, 5, 6]] * 4)}
    plain, trained = encoder(tensors), encoder(tensors, training=True)
    read = plain.mask.numpy()
    assert (plain.values.numpy()[read] != 0).mean() > 0.99
    assert 0.3 < (trained.values.numpy()[read] == 0).mean() < 0.7
    assert np.abs(trained.summary - plain.summary).max() > 1e-3


def test_a_text_without_words_is_read_outside_a_graph():
    """TensorFlow's eager convolution fails for zero rows."""
    encoder = WordEncoder(9, letters=9, units=6)
    read = encoder({"text_ids": tf.zeros([2, 0], tf.int32), "text_letters": tf.zeros([2, 0, 4], tf.int32)})
    assert read.values.shape[:2] == read.mask.shape == (2, 0)


@pytest.mark.parametrize("kind", ["bidirectional", "hierarchical", "words"])
def test_embeddings_are_dropped_at_a_rate_of_their_own(kind):
    more = {"hierarchical": {"mark": MARK}, "words": {"letters": 9}}.get(kind, {})
    for rates, changed in (({"dropout": 0.9, "embedding_dropout": 0.0}, False), ({"embedding_dropout": 0.9}, True)):
        encoder = Encoder.get(kind, vocabulary=10, units=6, embedding=8, input_name="story", **rates, **more)
        plain, trained = (encoder(TENSORS, training=training).summary[:2] for training in (False, True))
        assert (np.abs(plain - trained).max() > 1e-4) == changed  # the summary depends on the embeddings only


def test_turns_are_folded_and_weights_find_their_way_back():
    turns = fold(tf.constant(SOURCE), MARK, turns=2)
    assert turns.ids.numpy().tolist() == [[[3, 4], [5, 6]], [[0, 0], [7, 0]], [[0, 0], [0, 0]]]
    weights = tf.reshape(tf.range(12.0), [3, 1, 4])
    assert unfold(weights, turns.places).numpy()[0, 0].tolist() == [0, 1, 0, 2, 3, 0]
    assert unfold(weights, turns.places).numpy()[1, 0].tolist() == [6, 0, 0, 0, 0, 0]
    cut = fold(tf.constant(SOURCE), MARK, turns=1, symbols=1)  # the first symbol of the last turn
    assert cut.ids.numpy().tolist() == [[[5]], [[7]], [[0]]]
    assert fold(tf.zeros([0, 4], tf.int32), MARK, turns=2).ids.shape == (0, 2, 1)
    assert fold(tf.zeros([2, 0], tf.int32), MARK, turns=2).ids.shape == (2, 2, 1)


def test_what_a_long_turn_has_too_many_is_left_out_and_not_read_in_the_next():
    ids = tf.constant([[3, 4, 5, MARK, 6, 7]])
    turns = fold(ids, MARK, turns=2, symbols=2)
    assert turns.ids.numpy().tolist() == [[[3, 4], [6, 7]]]
    weights = tf.constant([[[0.1, 0.2, 0.3, 0.4]]])
    np.testing.assert_allclose(unfold(weights, turns.places)[0, 0], [0.1, 0.2, 0, 0, 0.3, 0.4])


def test_lines_are_read_one_by_one():
    """Changes in one line do not affect the inner representations of symbols in earlier lines."""
    encoder = LineEncoder(10, MARK, max_lines=3, units=6, embedding=4)
    one, other = (
        encoder({"text_ids": tf.constant([[3, 4, MARK, *end]])}).values.numpy()[0] for end in ([5, 6], [7, 8])
    )
    np.testing.assert_allclose(one[2:4, :12], other[2:4, :12], atol=1e-6)
    assert not np.allclose(one[4:6, :12], other[4:6, :12])


def test_encoders_are_found_by_name():
    assert isinstance(Encoder.get("forward", vocabulary=5), ForwardEncoder)
    assert {Encoder.member(name).field_type for name in ("bidirectional", "forward")} == {"text"}
    assert Encoder.member("hierarchical").field_type == "lines"
    with pytest.raises(ValueError, match="mark: expected a positive integer"):
        Encoder.get("hierarchical", vocabulary=5, mark=0)


def document(pool="attention", **sizes):
    return DocumentEncoder(
        10, MARK, **{"max_lines": 3, "units": 6, "embedding": 4, "pool": pool, "input_name": "story", **sizes}
    )


@pytest.mark.parametrize("pool", ["last", "average", "attention"])
def test_a_document_has_a_value_for_each_line_and_says_where_they_stand(pool):
    encoder = document(pool, max_line_length=4, dropout=0.25)
    read = encoder(TENSORS)
    assert (read.values.shape, encoder.level) == ((3, 3, 12), "lines")
    # The last lines of each text.
    assert read.mask.numpy().tolist() == [[False, True, True], [False, False, True], [False] * 3]
    weights = tf.constant([[[0.1, 0.2, 0.7]]] * 3)
    np.testing.assert_allclose(encoder.to_positions(weights, TENSORS)[:, 0], [[0.2, 0.7], [0.7, 0], [0.7, 0]])
    assert set(read.attention) == ({""} if pool == "attention" else set())
    if pool == "attention":
        looked = read.attention[""].numpy()[:, 0]
        np.testing.assert_allclose(looked[0, [0, 1]].sum(), 1, atol=1e-6)  # separately for each line
        np.testing.assert_allclose(looked[0, [3, 4]].sum(), 1, atol=1e-6)
        assert looked[0, 2] == looked[0, 5] == 0
        assert not looked[2].any()
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(encoder))
    assert again.get_config() == encoder.get_config()
    assert not np.allclose(encoder(TENSORS, training=True).values, read.values)


def test_lines_of_a_document_beyond_those_read_count_for_nothing():
    encoder = document(max_lines=1)
    one, other = ({"story_ids": tf.constant([[first, MARK, 5, 6]])} for first in (3, 4))
    np.testing.assert_array_equal(encoder(one).summary, encoder(other).summary)
    assert encoder.to_positions(tf.ones([1, 1, 1]), one).numpy().tolist() == [[[0, 1]]]
    assert encoder(one).attention[""].numpy()[0, 0, 0] == 0
    with pytest.raises(
        ValueError, match=r"pool: expected one of \('last', 'average', 'attention'\)\. Received: 'most'"
    ):
        document("most")


def test_a_word_is_known_by_its_id_and_by_its_spelling():
    encoder = WordEncoder(10, letters=9, units=6, embedding=4)
    ids = tf.constant([[3, 3, 4]])
    spelled = tf.constant([[[1, 2, 0], [2, 1, 0], [1, 2, 0]]])
    first, second, third = encoder.embed({"text_ids": ids, "text_letters": spelled}).numpy()[0]
    np.testing.assert_array_equal(first[:4], second[:4])
    assert not np.allclose(first[4:], second[4:])  # the order of letters matters
    np.testing.assert_array_equal(first[4:], third[4:])
    longer = tf.pad(spelled, [[0, 0], [0, 0], [0, 4]])
    np.testing.assert_allclose(encoder.embed({"text_ids": ids, "text_letters": longer})[0, 0], first, atol=1e-6)


def test_a_tree_is_read_from_its_words_up_and_its_inner_nodes_have_no_word():
    encoder = TreeEncoder(10, units=6, embedding=4)

    def root(ids, children):
        return encoder({"text_ids": tf.constant([ids]), "text_children": tf.constant([children])}).summary.numpy()

    two = [[1, 2], [0, 0], [0, 0]]
    np.testing.assert_array_equal(root([1, 5, 6], two), root([7, 5, 6], two))
    assert not np.allclose(root([1, 5, 6], two), root([1, 6, 5], two))
    one, other = (
        root([1, 1, 5, 6, 7], [[1, 4], [2, 3], [0, 0], [0, 0], [0, 0]]),
        root([1, 5, 1, 6, 7], [[1, 2], [0, 0], [3, 4], [0, 0], [0, 0]]),
    )
    assert not np.allclose(one, other)  # the same words with another tree


ERASING = {
    "facts": lambda: FactsEncoder(10, MARK, embedding=4, max_lines=3, input_name="story"),
    "document": lambda: DocumentEncoder(**SIZES, mark=MARK, max_lines=3),
    **{type(encoder).__name__: lambda encoder=encoder: encoder for encoder in made()},
}


@pytest.mark.parametrize("name", ERASING)
def test_of_a_symbol_that_is_erased_nothing_is_read(name):
    encoder = ERASING[name]()
    other = {**TENSORS, "story_ids": tf.constant(np.where(np.arange(6) == 1, 8, SOURCE))}
    other["story_letters"] = tf.constant(np.where(np.arange(6)[:, None] == 1, 4, SPELLED))
    kept = np.ones([3, 6], "float32")
    whole, weighed = encoder(TENSORS), encoder({**TENSORS, "story_token_weights": kept})
    np.testing.assert_allclose(weighed.summary, whole.summary, atol=1e-6)
    kept[0, 1] = 0
    erased, changed = (encoder({**tensors, "story_token_weights": kept}) for tensors in (TENSORS, other))
    np.testing.assert_allclose(changed.values[0], erased.values[0], atol=1e-6)
    np.testing.assert_allclose(changed.summary[0], erased.summary[0], atol=1e-6)
    assert np.abs(erased.summary[0] - whole.summary[0]).max() > 1e-3  # the erased word had an effect
    np.testing.assert_array_equal(erased.mask, whole.mask)  # the position of the erased word remains unmasked


@pytest.mark.parametrize("kind", ["grid", "rows", "clip", "words"])
def test_pictures_and_letters_whatever_data_format_keras_is_set_to(kind):
    """With a global `channels_first`, convolutions must not take the rows of a picture for its channels."""
    sizes = {"height": 16, "width": 24, "input_name": "story"}
    arguments = {
        "grid": sizes,
        "rows": {**sizes, "row_units": 4},
        "clip": {**sizes, "units": 4, "local": 3},
        "words": {**SIZES, "letters": 9},
    }[kind]
    pixels = tf.ones([2, 3, 16, 24, 3])
    tensors = {
        "story_pixels": pixels[:, 0],
        "story_frames": pixels,
        "story_there": tf.ones([2, 3], tf.int32),
        **TENSORS,
    }
    made = {}
    for data_format in ("channels_last", "channels_first"):
        keras.config.set_image_data_format(data_format)
        try:
            keras.utils.set_random_seed(0)
            encoder = Encoder.get(kind, **arguments)
            made[data_format] = encoder(tensors).values.numpy()
            assert keras.config.image_data_format() == data_format
        finally:
            keras.config.set_image_data_format("channels_last")
    np.testing.assert_allclose(made["channels_first"], made["channels_last"], atol=1e-6)


def test_a_story_of_empty_lines_alone_is_not_read():
    facts = FactsEncoder(10, MARK, embedding=4, max_lines=3, input_name="story")
    ids = tf.constant([[MARK, MARK, 0], [MARK, 4, 5], [0, 0, 0]])
    assert facts.input_lengths({"story_ids": ids}).numpy().tolist() == [0, 2, 0]


def test_padding_has_no_heads():
    encoder = HeadsEncoder(10, "softmax", units=4, embedding=4)
    ids = tf.constant([[3, 4, 5], [3, 4, 0]])
    encoder({"text_ids": ids})  # builds the encoder
    mask = ids != 0
    found = encoder.find_heads(tf.ones([2, 3, 4]), mask, {"text_ids": ids}, training=False)
    assert found.weights.numpy()[1, 1].any()
    assert not found.weights.numpy()[1, 2].any()
