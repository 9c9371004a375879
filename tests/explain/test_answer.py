"""The picture of an answer: one map, or one map per symbol over a grid or over the picture."""

import numpy as np
import pytest

from seqattn_tf.explain import draw_answer, draw_grid, save_figure
from seqattn_tf.explain.answer import has_facts, has_tree, is_phrases, is_tagging, without_story
from seqattn_tf.lite.answer import Answer, AttentionMap

MAP = AttentionMap(np.eye(2), ("HH", "AY"), ("h", "i"))
GRID = AttentionMap(np.arange(12.0).reshape(2, 2, 3) / 20, ("a", "dog"))
ANSWER = Answer("a dog", -0.5, tokens=("a", "dog"), attention={"text": MAP, "image": GRID})


def labels(figure):
    ticks = [t.get_text() for axes in figure.axes for t in [*axes.get_xticklabels(), *axes.get_yticklabels()]]
    return {*ticks, *(text.get_text() for text in figure.texts)}


def test_the_look_that_is_asked_for_is_drawn(tmp_path):
    assert {"h", "i", "HH", "AY", "hi \u2192 a dog"} <= labels(draw_answer("hi", ANSWER))
    figure = draw_answer("", ANSWER, "image")
    assert {"a", "dog", "a dog"} <= labels(figure)
    assert len(figure.axes) == 2
    save_figure(figure, tmp_path / "a.png")
    with pytest.raises(ValueError, match=r"name: expected one of \['image', 'text'\]\. Received: 'sound'"):
        draw_answer("hi", ANSWER, "sound")
    assert "nothing to show" in labels(draw_answer("hi", Answer("", -np.inf)))


def test_a_grid_lies_over_its_picture():
    picture = np.full([20, 40, 3], 128, np.uint8)
    figure = draw_grid(GRID.weights, GRID.queries, picture=picture)
    for axes, weights in zip(figure.axes, GRID.weights, strict=True):
        under, over = axes.get_images()
        assert under.get_extent() == over.get_extent()
        assert under.get_array().shape == (20, 40, 3)
        np.testing.assert_allclose(over.get_array(), weights)
    light = over.cmap(over.norm(weights))[..., 3]
    assert light.argmin() == weights.argmax()  # the picture is most visible where the weight is largest


@pytest.mark.parametrize(("rows", "across", "down"), [(1, 1, 1), (6, 6, 1), (7, 6, 2), (14, 6, 3)])
def test_many_symbols_take_several_lines(rows, across, down):
    figure = draw_grid(np.ones([rows, 3, 3]), ["x"] * rows)
    boxes = [axes.get_position() for axes in figure.axes]
    assert len({round(box.x0, 4) for box in boxes}) == across
    assert len({round(box.y0, 4) for box in boxes}) == down
    assert all(box.x0 >= 0 and box.x1 <= 1 and box.y0 >= 0 and box.y1 <= 1 for box in boxes)


@pytest.mark.parametrize(
    "weights", [np.ones([2, 3]), np.ones([3, 2, 2]), -np.ones([2, 2, 2]), np.full([2, 2, 2], np.nan)]
)
def test_bad_weights_are_refused(weights):
    with pytest.raises(ValueError, match=r"weights: expected \[2, height, width\]"):
        draw_grid(weights, ["a", "b"])


def test_nothing_is_said_to_be_nothing():
    assert "nothing to show" in labels(draw_grid(np.zeros([0, 2, 2]), []))
    draw_grid(np.zeros([1, 2, 2]), ["a"])  # zero weights must not cause a division by zero


# Answers of one form each: the kind of picture follows from the tokens and the attention map.

SENTENCE = ("the", "dog", "barks")
TAGGED = AttentionMap(np.eye(4, 3) * 0.8 + 0.05, ("DET", "NOUN", "VERB", "X"), SENTENCE)
HEADS = AttentionMap(np.eye(3, k=1) * 0.9, SENTENCE, SENTENCE)
REVIEW = AttentionMap(np.array([[0.2, 0.8, 0, 1]]), ("positive",), ("so", "good", "\n", "bye"))
LINES = AttentionMap(np.array([[0.9, 0.1]]), ("positive",), ("so good", "bye"))
NOT_BAD = AttentionMap(
    np.array([[0.2, 0.6, 0.9], [0.8, 0.4, 0.1]]), ("negative", "positive"), ("not bad", "not", "bad")
)
WOW = AttentionMap(np.array([[0.2], [0.8]]), ("negative", "positive"), ("Wow",))
SURE_OF_TAGS = np.array([[0.9, 0.3, 0.1], [0.1, 0.7, 0.2], [0.0, 0.0, 0.7]])  # the columns add up to 1


def inside(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def answer(tokens, parts=None, **looks):
    return Answer(" ".join(tokens), -0.5, tokens=tuple(tokens), attention=looks, extra=parts or {})


def test_tags_are_drawn_under_their_words():
    shown = inside(draw_answer("the dog barks", answer(["DET", "NOUN", "VERB"], text=TAGGED)))
    assert {*SENTENCE, "DET 0.85", "NOUN 0.85"} <= {*shown}
    shown = inside(draw_answer("", answer(["DET", "_", "VERB"], text=TAGGED)))
    assert {*SENTENCE, "DET 0.85", ""} <= {*shown}  # a word that was not read has no tag


def test_tags_may_be_all_there_are_in_order():
    tags = ("DET", "NOUN", "VERB")
    assert is_tagging(tags, AttentionMap(SURE_OF_TAGS, tags, SENTENCE))
    assert not is_tagging(tags, AttentionMap(SURE_OF_TAGS.T, tags, SENTENCE))  # an alignment: its rows add up to 1
    assert not is_tagging(tags, AttentionMap(np.eye(3), tags, SENTENCE))  # ambiguous
    assert not is_tagging(tags, AttentionMap(np.zeros([3, 3]), tags, SENTENCE))
    assert "VERB 0.70" in inside(draw_answer("", answer(tags, text=AttentionMap(SURE_OF_TAGS, tags, SENTENCE))))


def test_labels_of_phrases_are_drawn_as_a_tree():
    shown = inside(draw_answer("not bad", answer(["positive"], text_nodes=NOT_BAD)))
    assert {"not", "bad", "positive 0.80", "negative", "\u2212", "+"} <= {*shown}
    # The tree contains the whole answer.
    assert not draw_answer("not bad", answer(["positive"], text_nodes=NOT_BAD)).texts
    assert is_phrases(["positive"], NOT_BAD)


def test_one_word_is_a_tree_only_where_its_look_is_one_over_nodes():
    assert is_phrases(["positive"], WOW, "text_nodes")
    assert "positive 0.80" in inside(draw_answer("", answer(["positive"], text_nodes=WOW)))
    assert not is_phrases(["positive"], WOW, "text")
    assert is_tagging(["positive"], WOW)


@pytest.mark.parametrize(
    ("tokens", "look"),
    [
        ([], NOT_BAD),
        (["positive", "negative"], NOT_BAD),
        (["neutral"], NOT_BAD),  # not a label of the model
        (["positive"], AttentionMap(NOT_BAD.weights[1:], ("positive",), NOT_BAD.keys)),  # a label with attention
        (["positive"], AttentionMap(NOT_BAD.weights, NOT_BAD.queries, ("not bad", "bad", "not"))),
        # Words rather than phrases.
        (["positive"], AttentionMap(NOT_BAD.weights, NOT_BAD.queries, ("not", "so", "bad"))),
        (["positive"], AttentionMap(NOT_BAD.weights[:, :0], NOT_BAD.queries, ())),
    ],
)
def test_what_is_no_tree_of_phrases(tokens, look):
    assert not is_phrases(tokens, look, "text_nodes")


def test_heads_are_drawn_as_a_tree():
    shown = inside(draw_answer("", answer(["2:det", "3:nsubj", "0:root"], text=HEADS)))
    assert {*SENTENCE, "det", "nsubj", "root", "0.90", "root 0.10"} <= {*shown}
    assert {*SENTENCE, "root"} <= {*inside(draw_answer("", answer(["2", "3", "0"], text=HEADS)))}
    assert "det" in inside(draw_answer("", answer(["2:det", "_", "0:root"], text=HEADS)))


def test_what_speaks_for_a_label_is_highlighted():
    figure = draw_answer("so good / bye", answer(["positive"], text=REVIEW))
    assert [text.get_text() for text in figure.texts] == ["positive"]
    assert {"so", "good", "bye"} <= {*inside(figure)}
    for look in ("text", "text_lines"):
        figure = draw_answer("", answer(["positive"], text=REVIEW, text_lines=LINES), look)
        assert {"so", "good", "bye", "0.90", "0.10"} <= {*inside(figure)}


def test_lines_that_do_not_belong_to_the_words_are_left_aside():
    other = AttentionMap(np.array([[1.0]]), ("positive",), ("so good",))
    shown = inside(draw_answer("", answer(["positive"], text=REVIEW, text_lines=other)))
    assert "good" in shown
    assert "1.00" not in shown


# Answers with several parts: the tree of a text, the facts of a story.

PREMISE = AttentionMap(np.eye(2, 3), ("a", "dog"), SENTENCE)
STORY = ("Mary left.", "John slept.", "Mary ate.")
TOLD = AttentionMap(np.array([[0.1, 0.9, 0.0], [0.0, 0.2, 0.8]]), ("hop 1", "hop 2"), STORY)


def entailed(heads, look=HEADS, name="premise_heads"):
    parts = {} if heads is None else {name: np.array(heads)}
    return answer(["yes"], parts, premise=PREMISE, **{name: look})


@pytest.mark.parametrize("name", ["premise_heads", "text_heads"])
def test_a_tree_that_came_with_an_answer_is_drawn_with_its_marginals(name):
    figure = draw_answer("the dog barks | a dog", entailed([2, 3, 0], name=name), name)
    assert inside(figure)[:3] == [*SENTENCE]
    assert {"root", "0.90", "root 0.10"} <= {*inside(figure)}
    assert " ".join(text.get_text() for text in figure.texts) == "the dog barks | a dog \u2192 yes"
    arcs = [patch for patch in figure.axes[0].patches if type(patch).__name__ == "PathPatch"]
    assert len(arcs) == 3 + 5  # the best tree; two probable arcs, and three from the root


def test_a_text_looked_at_from_another_is_a_map_under_both():
    figure = draw_answer("the dog barks | a dog", entailed([2, 3, 0]), "premise")
    assert {*SENTENCE, "a", "dog"} <= labels(figure)
    assert " ".join(text.get_text() for text in figure.texts) == "the dog barks | a dog \u2192 yes"


def test_one_word_is_a_tree_of_its_own():
    one = AttentionMap(np.zeros([1, 1]), ("dog",), ("dog",))
    assert {"dog", "root"} <= {*inside(draw_answer("", entailed([0], one), "premise_heads"))}


def test_a_tree_of_the_text_comes_before_what_the_tokens_might_mean():
    copied = answer(["2", "3", "0"], {"text_heads": np.array([0, 1, 2])}, text_heads=HEADS)
    assert has_tree(copied, "text_heads")
    titles = draw_answer("x", copied, "text_heads").texts
    assert [text.get_text() for text in titles] == ["x \u2192 2 3 0"]


@pytest.mark.parametrize(
    ("heads", "look"),
    [
        (None, HEADS),  # softmax: not a tree
        ([2, 3], HEADS),
        ([2, 3, 0, 0], HEADS),
        ([2, 3, 4], HEADS),  # there is no fourth word
        ([1, 3, 0], HEADS),  # a word cannot be its own head
        ([-1, 3, 0], HEADS),
        ([2, 3, 1], HEADS),  # there is no root
        ([0, 0, 0], HEADS),  # all heads are 0, so nothing was read
        ([2.0, 3.0, 0.0], HEADS),
        ([[2, 3, 0]], HEADS),
        (["2", "3", "0"], HEADS),
        ([2, 3, 0], AttentionMap(np.eye(2, 3), ("a", "dog"), SENTENCE)),  # words of another text
    ],
)
def test_what_is_no_tree_is_a_map(heads, look):
    found = entailed(heads, look)
    assert not has_tree(found, "premise_heads")
    assert {*look.queries, *look.keys} <= labels(draw_answer("q", found, "premise_heads"))


def test_facts_are_drawn_under_their_question():
    told = answer(["home"], {"facts": np.array([2, 3], np.int32)}, story_lines=TOLD)
    figure = draw_answer(" / ".join(STORY) + " | Where is John?", told)
    assert [text.get_text() for text in figure.texts] == ["Where is John?"]
    assert {*STORY, "hop 1", "hop 2", "0.90", "0.80", "\u2192 home"} <= {*inside(figure)}
    unread = answer([], {"facts": np.array([0, 0])}, story_lines=AttentionMap(TOLD.weights * 0, TOLD.queries, STORY))
    assert {*STORY} <= {*inside(draw_answer("Mary left. / John slept. / Mary ate. | ", unread))}


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("story_lines", None),
        ("story_lines", [2]),  # one map is missing
        ("story_lines", [2, 4]),  # there is no fourth fact
        ("story_lines", [2, -1]),
        ("story_lines", [2.0, 3.0]),
        ("story", [2, 3]),  # words rather than facts
    ],
)
def test_what_are_no_facts_is_a_map(name, facts):
    told = answer(["home"], {} if facts is None else {"facts": np.array(facts)}, **{name: TOLD})
    assert not has_facts(told, name)
    assert {"hop 1", "hop 2", *STORY} <= labels(draw_answer("q", told))


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ("Mary left. / John slept. / Mary ate. | Who slept?", "Who slept?"),
        ("Who slept? | Mary left. / John slept. / Mary ate.", "Who slept?"),
        (" Mary left. /  / John slept. / Mary ate. /  | Who slept?", "Who slept?"),  # lines without words
        ("Mary left. John slept. Mary ate. | Who slept?", "Who slept?"),  # one line with several sentences
        ("Mary left. / John slept. / Mary ate. | and/or?", "and/or?"),
        ("another story | Who slept?", "another story | Who slept?"),
        ("", ""),
    ],
)
def test_a_question_is_told_from_its_story(asked, left):
    assert without_story(asked, STORY) == left


def test_what_facts_hold_is_no_pattern():
    assert without_story("a (b* / c+ | d?", ["a (b*", "c+"]) == "d?"


@pytest.mark.parametrize(
    ("tokens", "look"),
    [
        (["DET", "NOUN"], TAGGED),  # one tag is missing
        (["DET", "NOUN", "ADV"], TAGGED),  # not a tag of the model
        # Attention from symbols to symbols.
        (["HH", "AY", "."], AttentionMap(np.eye(3), ("HH", "AY", "."), ("h", "i", "."))),
        (["2", "4", "0"], HEADS),  # there is no fourth word
        (["2", "2", "0"], HEADS),  # a word cannot be its own head
        (["2", "x", "0"], HEADS),
        (["3", "1", "2"], AttentionMap(np.eye(3), ("3", "1", "2"), ("3", "1", "2"))),  # numbers that were copied
        (["positive"], AttentionMap(np.eye(2), ("hop 1", "hop 2"), ("so", "good"))),
        (["positive"], AttentionMap(NOT_BAD.weights, NOT_BAD.queries, ("not bad", "bad", "not"))),  # not a tree
    ],
)
def test_all_else_is_a_map(tokens, look):
    figure = draw_answer("q", answer(tokens, text=look))
    assert {*look.queries, *look.keys} <= labels(figure)
