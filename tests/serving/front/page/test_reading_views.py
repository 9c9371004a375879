"""Views of tags, trees, phrases and labels on the page, in a real browser with generated answers."""

import re

import numpy as np
import pytest
from page_checks import CHECKS, contrast, tone
from page_toys import offered
from support.slow import slow

WORDS = ["the", "old", "dog", "saw", "it", "."]
TAGS = ["ADJ", "DET", "NOUN", "PRON", "PUNCT", "VERB"]
SAID = ["DET", "ADJ", "NOUN", "VERB", "PRON", "PUNCT"]
CHUNKS = ["B-NP", "I-NP", "I-NP", "B-VP", "B-NP", "O"]
HEADS = ["3:det", "3:amod", "4:nsubj", "0:root", "4:obj", "4:punct"]


def saying(tokens, rows, places, weights, **more):
    """Return the outputs of one answer with attention over the text."""
    outputs = {"text": " ".join(tokens), "score": -0.5, "tokens": tokens, "alternatives": [], "alternative_scores": []}
    look = {"text_attention": np.asarray(weights).tolist(), "text_queries": rows, "text_keys": places}
    return {**outputs, **look, **more}


def posterior(tokens, rows, sure=0.97):
    """Return a distribution for each token, with most of the mass on its own column."""
    weights = np.full([len(rows), len(tokens)], (1 - sure) / (len(rows) - 1))
    weights[[rows.index(token) for token in tokens], range(len(tokens))] = sure
    return weights


def tagging(tokens=SAID, rows=TAGS, **more):
    weights = posterior(tokens, rows)
    weights[:, 3] = [0.01, 0, 0.3, 0, 0, 0.69] if rows is TAGS else weights[:, 3]
    return saying(tokens, rows, WORDS, weights, **more)


def tree(tokens=HEADS, **more):
    weights = np.zeros([6, 6])
    weights[[0, 1, 2, 4, 5], [2, 2, 3, 3, 3]] = [1, 0.6, 0.9, 1, 1]
    weights[1, 3] = 0.3  # for "old"; the rest belongs to the root
    return saying(tokens, WORDS, WORDS, weights, **more)


REVIEW = saying(
    ["positive"],
    ["positive"],
    ["so", "so", "\n", "very", "good", "!"],
    [[0.4, 0.6, 0, 0.1, 0.8, 0.1]],
    alternatives=["negative"],
    alternative_scores=[-2.0],
)
LINES = {"text_lines_attention": [[0.25, 0.75]], "text_lines_queries": ["positive"]}
LINES["text_lines_keys"] = ["so so", "very good !"]
SENTIMENTS = ["very negative", "negative", "neutral", "positive", "very positive"]
PHRASES = ["It is not bad", "It is", "It", "is", "not bad", "not", "bad"]
OF_PHRASES = ["positive", "neutral", "neutral", "neutral", "very positive", "negative", "very negative"]


def phrases(said=OF_PHRASES, labels=SENTIMENTS, places=PHRASES, sure=1.0, **more):
    """Return the outputs of one answer with attention over the nodes of a tree."""
    outputs = saying(said[:1], labels, places, posterior(said, labels, sure), **more)
    return {name.replace("text_", "text_nodes_"): value for name, value in outputs.items()}


def chained(count):
    """Return the phrases of a right-branching tree with the given number of words."""
    words = [f"word{number}" for number in range(count)]
    return [part for number in range(count - 1) for part in (" ".join(words[number:]), words[number])] + words[-1:]


NOT_SURE = phrases()
NOT_SURE["text_nodes_attention"] = [
    [part if place == 4 else other for place, other in enumerate(row)]
    for row, part in zip(NOT_SURE["text_nodes_attention"], [0.1, 0, 0.2, 0, 0.7], strict=True)
]
CHUNKED = tagging(CHUNKS, ["B-NP", "B-VP", "I-NP", "I-VP", "O"])


@pytest.fixture
def show(stage, open_page):
    """A function that opens the page with one answer."""

    def show(outputs, **options):
        stage.play(outputs, offered("toy", {"text": "text"}, outputs))
        return open_page(stage.url, "#model=toy&text=x", **options)

    return show


def status(page):
    return page.get_by_role("figure").get_by_role("status")


def test_words_with_their_tags(show, expect):
    page = show(tagging())
    expect(page.locator("figcaption")).to_have_text("The tag of each word")
    expect(page.locator(".tagged .word")).to_have_text(WORDS)
    expect(page.locator(".tagged .tag")).to_have_text(["DET", "ADJ", "NOUN", "VERB 0.69", "PRON", "PUNCT"])
    expect(page.locator(".segment.unsure")).to_have_count(1)
    colours = [tuple(tone(page.locator(".tagged .tag").nth(place), "color")) for place in range(6)]
    assert len({*colours}) == 6
    expect(page.locator(".map, .lines")).to_have_count(0)  # nothing is drawn twice
    expect(page.get_by_role("region", name="Outputs")).to_have_count(0)
    expect(page.locator(".said")).to_have_class("said small")
    expect(page.locator(".said")).to_have_text(" ".join(SAID))


def test_a_word_tells_what_else_it_might_be(show, expect):
    page = show(tagging())
    expect(status(page)).to_have_text(re.compile(r"^Point at a word.* The least certain:saw VERB 0\.690$"))
    page.locator(".word").nth(3).hover()
    expect(status(page).locator("li")).to_have_text(["VERB 0.690", "NOUN 0.300", "ADJ 0.010"])
    expect(status(page).locator("p")).to_have_text("saw is")
    wide = status(page).locator(".bar").evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
    assert wide[1] / wide[0] == pytest.approx(0.3 / 0.69, abs=0.02)
    expect(page.locator(".word.pointed")).to_have_text("saw")
    page.get_by_label("Text").hover()
    expect(page.locator(".pointed")).to_have_count(0)
    expect(status(page)).to_have_text(re.compile("^Point at a word"))


def test_tags_by_keyboard(show, expect):
    page = show(tagging(), viewport={"width": 360, "height": 740})
    box = page.get_by_role("application", name="6 words with their tags. Arrow keys move over them.")
    box.focus()
    for key, word in (
        ("ArrowRight", "the"),
        ("ArrowRight", "old"),
        ("End", "."),
        ("Home", "the"),
        ("ArrowLeft", "the"),
    ):
        page.keyboard.press(key)
        expect(page.locator(".word.pointed")).to_have_text(word)
    page.keyboard.press("ArrowDown")
    below = page.locator(".word.pointed")
    heights = [page.locator(".word").first.bounding_box()["y"], below.bounding_box()["y"]]
    assert heights[0] < heights[1]
    page.keyboard.press("ArrowUp")
    expect(below).to_have_text("the")
    page.keyboard.press("Escape")
    expect(page.locator(".pointed")).to_have_count(0)
    assert box.evaluate("box => getComputedStyle(box).outlineStyle") == "solid"


def test_all_probabilities_are_behind_a_fold(show, expect):
    page = show(tagging())
    page.get_by_text("All probabilities").click()
    map_ = page.get_by_role("application", name="Map of tags and words, 6 by 6. Arrow keys move over it.")
    expect(map_).to_be_visible()
    expect(page.locator(".cells rect[data-row]")).to_have_count(36)
    page.locator('.cells rect[data-row="2"][data-column="3"]').hover()
    expect(status(page).locator("p")).to_have_text("saw is")
    expect(page.locator(".word.pointed")).to_have_text("saw")


def test_segments_stand_together(show, expect):
    page = show(CHUNKED)
    expect(page.locator("figcaption")).to_have_text("Segments")
    expect(page.locator(".segment")).to_have_text(["theolddogNP", "sawVP", "itNP", "."])
    first, third = (tone(page.locator(".segment .tag").nth(place), "color") for place in (0, 2))
    assert first == third
    page.locator(".word").nth(1).hover()
    expect(status(page).locator("li").first).to_have_text("I-NP 0.970")


def test_words_that_run_from_right_to_left(show, expect):
    words = ["ذهب", "الولد", "إلى"]
    page = show(saying(["VERB", "NOUN", "ADP"], ["ADP", "NOUN", "VERB"], words, np.eye(3)[::-1]))
    left, right = (page.locator(".word").nth(place).bounding_box()["x"] for place in (2, 0))
    assert left < right
    page.locator(".words").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".word.pointed")).to_have_text(words[1])


def test_other_taggings_say_where_they_differ(show, expect):
    other = {"alternatives": ["DET ADJ NOUN NOUN PRON PUNCT"], "alternative_scores": [-1.5]}
    page = show(tagging(**other))
    expect(page.locator(".best")).to_be_hidden()
    page.get_by_text("Other answers").click()
    expect(page.locator(".best caption")).to_have_text("The 2 best answers")
    expect(page.locator(".best mark")).to_have_text(["NOUN"])


def test_arcs_over_words(show, expect):
    page = show(tree())
    expect(page.locator("figcaption")).to_have_text("What each word depends on")
    expect(page.locator(".leaf")).to_have_text(WORDS)
    expect(page.locator(".arc text")).to_have_text(["det", "amod", "nsubj", "root", "obj", "punct"])
    box = {text: page.locator(".arc", has_text=text).bounding_box() for text in ("nsubj", "obj", "punct", "root")}
    assert box["root"]["y"] < box["punct"]["y"] < box["obj"]["y"]  # longer arcs above shorter ones, the root above all
    dog, saw = (page.locator(".leaf").nth(place).bounding_box() for place in (2, 3))
    middle = box["nsubj"]["x"] + box["nsubj"]["width"] / 2
    assert dog["x"] < middle < saw["x"] + saw["width"]
    expect(page.locator(".map, .lines")).to_have_count(0)
    expect(page.locator(".said")).to_have_class("said small")


def test_a_word_tells_its_probable_heads(show, expect):
    page = show(tree())
    expect(status(page)).to_have_text(re.compile(r"The least certain:old \u2190 dog 0\.600$"))
    page.locator(".leaf").nth(1).hover()
    expect(status(page).locator("p")).to_have_text("old depends on")
    expect(status(page).locator("li")).to_have_text(["dog 0.600", "saw 0.300", "the root 0.100"])
    expect(page.locator(".leaf .shade")).to_have_count(2)
    expect(page.locator(".arc.its")).to_have_text(["amod"])
    page.locator(".words").focus()
    page.keyboard.press("End")
    expect(page.locator(".leaf.pointed")).to_have_text(".")
    page.keyboard.press("Escape")
    expect(page.locator(".arc.its, .leaf .shade")).to_have_count(0)


def test_heads_without_relations_and_words_that_were_not_read(show, expect):
    page = show(tree(["3", "_", "4", "0", "4", "4"]))
    expect(page.locator(".arc")).to_have_count(5)
    expect(page.locator(".arc text")).to_have_text(["", "", "root", "", ""])


def test_a_long_tree_scrolls_in_its_own_box(show, expect):
    words = [f"word{number}" for number in range(40)]
    heads = [f"{number + 2}:dep" for number in range(39)] + ["0:root"]
    page = show(saying(heads, words, words, np.eye(40, k=1)), viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.locator(".frame")).to_have_class("frame right")
    page.locator(".words").focus()
    page.keyboard.press("Home")
    page.keyboard.press("End")
    expect(page.locator(".leaf").last).to_be_in_viewport()
    expect(page.locator(".frame")).to_have_class("frame")


def test_phrases_with_their_labels(show, expect):
    page = show(phrases())
    expect(page.locator("figcaption")).to_have_text("The label of each phrase")
    expect(page.locator(".leaf-word:not(.leaning)")).to_have_text(["It", "is", "not", "bad"])
    expect(page.locator(".node .sign")).to_have_text(["+", "0", "0", "0", "++", "\u2212", "\u2212\u2212"])
    expect(page.locator(".phrases .root")).to_have_text("positive 1.00")
    discs = page.locator(".node circle").evaluate_all(
        "all => all.map(({ cx, cy }) => [cx.baseVal.value, cy.baseVal.value])"
    )
    for parent, left, right in ((0, 1, 4), (1, 2, 3), (4, 5, 6)):
        assert discs[parent][0] == pytest.approx((discs[left][0] + discs[right][0]) / 2, abs=0.1)
        assert discs[parent][1] < min(discs[left][1], discs[right][1])  # y coordinates increase downwards
    assert [discs[node][0] for node in (2, 3, 5, 6)] == sorted(discs[node][0] for node in (2, 3, 5, 6))
    expect(page.locator(".phrases path")).to_have_count(6)
    expect(page.locator(".said")).to_have_class("said")
    expect(page.locator(".map, .lines, .tagged")).to_have_count(0)  # nothing is drawn twice
    expect(page.get_by_role("region", name="Outputs")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", slow("dark")])
def test_the_colours_of_phrases_are_a_scale(show, expect, scheme):
    page = show(phrases(), color_scheme=scheme)
    fills = [tuple(tone(page.locator(".node circle").nth(node), "fill")) for node in range(7)]
    legend = [tuple(tone(page.locator(".scale .disc").nth(label), "backgroundColor")) for label in range(5)]
    assert fills == [legend[SENTIMENTS.index(label)] for label in OF_PHRASES]
    expect(page.locator(".scale > span")).to_have_text(
        ["\u2212\u2212very negative", "\u2212negative", "0neutral", "+positive", "++very positive"]
    )
    assert len({*legend}) == 5
    assert legend[0][0] > legend[0][2]  # the first is warm, the last is cold
    assert legend[4][0] < legend[4][2]


@pytest.mark.parametrize("scheme", ["light", slow("dark")])
def test_signs_stand_out_from_every_colour(show, scheme):
    shares = np.linspace(0, 1, 41)
    outputs = phrases(["no"] * 41, ["no", "yes"], chained(21), text_attention=[shares.tolist(), (1 - shares).tolist()])
    page = show({**outputs, "tokens": ["no"]}, color_scheme=scheme)
    for node in range(41):
        sign, disc = (page.locator(f".node {part}").nth(node) for part in (".sign", "circle"))
        assert contrast(tone(sign, "fill"), tone(disc, "fill")) >= 4.5, shares[node]


def test_a_phrase_tells_how_probable_its_labels_are(show, expect):
    page = show(NOT_SURE)
    expect(status(page)).to_have_text(
        re.compile(r"^Point at a node.* The least certain:not bad: very positive 0\.700$")
    )
    page.locator(".node").nth(4).hover()
    expect(status(page).locator("p")).to_have_text("not bad is")
    expect(status(page).locator("li")).to_have_text(["very positive 0.700", "neutral 0.200", "very negative 0.100"])
    expect(page.locator(".node.its .leaf-word")).to_have_text(["not", "bad"])
    expect(page.locator(".phrases path.its")).to_have_count(2)
    page.locator(".leaf-word").first.hover()
    expect(status(page).locator("p")).to_have_text("It is")
    expect(page.locator(".node.its")).to_have_count(1)
    page.get_by_label("Text").hover()
    expect(page.locator(".pointed, .its, .picked")).to_have_count(0)


def test_phrases_by_keyboard(show, expect):
    page = show(phrases(), viewport={"width": 360, "height": 740})
    box = page.get_by_role("application", name=re.compile("^Tree of 7 phrases with their labels. Arrow keys"))
    box.focus()
    for key, phrase in (
        ("ArrowDown", "It is not bad"),
        ("ArrowUp", "It is not bad"),
        ("ArrowDown", "It is"),
        ("ArrowDown", "It"),
        ("ArrowDown", "It"),
        ("ArrowRight", "is"),
        ("ArrowRight", "not bad"),
        ("ArrowUp", "It is not bad"),
        ("End", "bad"),
        ("ArrowUp", "not bad"),
        ("ArrowLeft", "is"),
        ("Home", "It is not bad"),
    ):
        page.keyboard.press(key)
        expect(status(page).locator("p")).to_have_text(f"{phrase} is")
    page.keyboard.press("Escape")
    expect(page.locator(".pointed")).to_have_count(0)
    assert box.evaluate("box => getComputedStyle(box).outlineStyle") == "solid"


def test_up_leads_to_the_phrase_around_whatever_is_nearer(show, expect):
    page = show(phrases(["no"] * 5, ["no", "yes"], chained(3)))
    page.locator(".words").focus()
    for key, phrase in (("Home", "word0 word1 word2"), ("ArrowRight", "word0"), ("ArrowUp", "word0 word1 word2")):
        page.keyboard.press(key)
        expect(status(page).locator("p")).to_have_text(f"{phrase} is")


@pytest.mark.parametrize(
    ("labels", "signs"),
    [
        (["negative", "positive"], ["+", "\u2212", "\u2212"]),
        slow(["1", "2"], ["2", "1", "1"]),
        slow(["bad film", "good film"], ["gf", "bf", "bf"]),
        (["sport", "science"], ["2", "1", "1"]),
    ],
)
def test_signs_of_other_labels(show, expect, labels, signs):
    page = show(phrases([labels[1], labels[0], labels[0]], labels, ["2\u00a01/2 hours", "2\u00a01/2", "hours"]))
    expect(page.locator(".node .sign")).to_have_text(signs)


def test_a_phrase_of_one_word_is_no_tag(show, expect):
    page = show(phrases(["very positive"], places=["Wow"], sure=0.8))
    expect(page.locator(".node")).to_have_text("Wow++")
    expect(page.locator(".phrases .root")).to_have_text("very positive 0.80")
    expect(page.locator(".said")).to_have_class("said")
    expect(page.locator(".tagged, .map")).to_have_count(0)
    inside = page.locator(".phrases .root").bounding_box()
    box = page.locator(".phrases").bounding_box()
    assert box["x"] <= inside["x"]
    assert inside["x"] + inside["width"] <= box["x"] + box["width"]


def test_a_long_sentence_scrolls_in_its_own_box(show, expect):
    page = show(phrases(["neutral"] * 167, places=chained(84)), viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.locator(".node")).to_have_count(167)
    expect(page.locator(".leaf-word.leaning")).to_have_count(84)
    expect(page.locator(".frame")).to_have_class("frame right down")
    page.locator(".words").focus()
    page.keyboard.press("Home")
    page.keyboard.press("End")
    expect(page.locator(".leaf-word").last).to_be_in_viewport()


def test_tags_may_be_all_there_are_in_order(show, expect):
    rows, words = ["ADP", "NOUN", "VERB"], ["of", "time", "flies"]
    weights = np.array([[0.9, 0.3, 0.1], [0.1, 0.7, 0.2], [0.0, 0.0, 0.7]])
    page = show(saying(rows, rows, words, weights))
    expect(page.locator(".tagged .tag")).to_have_text(["ADP", "NOUN 0.70", "VERB 0.70"])
    page = show(saying(rows, rows, words, weights.T))  # an alignment: its rows add up to 1
    expect(page.locator(".map")).to_have_count(1)
    expect(page.locator(".tagged")).to_have_count(0)


def test_words_that_a_label_looked_at(show, expect):
    page = show(REVIEW)
    expect(page.locator(".said")).to_have_class("said")
    expect(page.locator(".said")).to_have_text("positive")
    expect(page.locator(".weighed .line")).to_have_text(["soso", "verygood!"])
    expect(page.locator(".bar")).to_have_count(2)  # only those of the best answers
    expect(page.locator(".map, .lines")).to_have_count(0)
    expect(page.get_by_role("table", name="The 2 best answers")).to_be_visible()
    page.locator(".symbol", has_text="good").hover()
    expect(status(page)).to_have_text("good has weight 0.800")
    page.locator(".words").focus()
    page.keyboard.press("Home")
    expect(status(page)).to_have_text("so has weight 0.400")


def test_lines_with_their_weights(show, expect):
    page = show({**REVIEW, **LINES})
    expect(page.locator("figcaption")).to_have_text(["Attention"])
    expect(page.locator(".weighed-line .quiet")).to_have_text(["0.25", "0.75"])
    wide = page.locator(".weighed .bar").evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
    assert wide[0] / wide[1] == pytest.approx(1 / 3, abs=0.02)
    halves = "({ style }) => ['--first', '--second'].map((name) => Number(style.getPropertyValue(name)))"
    shares = np.mean(page.locator(".symbol").evaluate_all(f"words => words.map({halves})"), axis=1)
    products = np.array([0.4 * 0.25, 0.6 * 0.25, 0.1 * 0.75, 0.8 * 0.75, 0.1 * 0.75])
    np.testing.assert_allclose(shares, products / products.max(), atol=1e-6)
    page.locator(".symbol", has_text="good").hover()
    expect(status(page)).to_have_text("good has weight 0.800 in its line, which has weight 0.750")
    rows = page.get_by_role("table", name="Weight of each line").get_by_role("row")
    expect(rows).to_have_text(["lineweight", "so so0.250", "very good !0.750"])
    expect(page.locator(".map")).to_have_count(0)


@pytest.mark.parametrize(
    ("outputs", "maps"),
    [
        (saying(["DET", "ADJ"], TAGS, WORDS, np.ones([6, 6]) / 6), 1),  # fewer tags than words
        slow(saying([*SAID[:5], "X"], TAGS, WORDS, np.ones([6, 6]) / 6), 1),  # not a tag of the model
        (saying([*HEADS[:5], "7:obj"], WORDS, WORDS, np.ones([6, 6]) / 6), 1),  # there is no seventh word
        slow(saying([*HEADS[:5], "6:obj"], WORDS, WORDS, np.ones([6, 6]) / 6), 1),  # a word cannot be its own head
        (saying(["H", "AY"], ["H", "AY"], ["h", "i"], np.eye(2)), 1),  # attention from symbols to symbols
        slow(saying(["1", "2"], ["1", "2"], ["1", "2"], np.eye(2)), 1),  # numbers that were copied
        (phrases(["no", "no", "yes"], ["no", "yes"], ["a b", "b", "a"]), 1),  # not a tree
        slow(phrases(["no", "no", "yes"], ["no", "yes"], ["a", "so", "b"]), 1),  # words rather than phrases
        slow(phrases(["no", "no"], ["no", "yes"], ["a b", "a"]), 1),  # one node is missing
        ({**phrases(["no", "no", "yes"], ["no", "yes"], ["a b", "a", "b"]), "tokens": ["maybe"]}, 1),
        (saying(["yes"], ["yes"], ["a", "b"], np.zeros([1, 2])), 0),  # a label without attention
        ({**REVIEW, **LINES, "text_lines_keys": ["so so"], "text_lines_attention": [[1.0]]}, 0),  # one line is missing
    ],
)
def test_what_does_not_fit_is_shown_as_before(show, expect, outputs, maps):
    page = show(outputs)
    expect(page.locator(".map")).to_have_count(maps)
    expect(page.locator(".tagged, .tree, .phrases, .weighed.lined")).to_have_count(0)
    expect(page.locator(".said")).not_to_have_class(re.compile("small"))


@pytest.mark.parametrize(
    ("outputs", "table", "scheme"),
    [
        (tagging(), "The tag of each word", "light"),
        slow(tagging(), "The tag of each word", "dark"),
        slow(CHUNKED, "The tag of each word", "light"),
        slow(tree(), "The head of each word", "light"),
        (tree(), "The head of each word", "dark"),
        (NOT_SURE, "The label of each phrase", "light"),
        slow(NOT_SURE, "The label of each phrase", "dark"),
        slow(REVIEW, "Weight of each word", "light"),
        ({**REVIEW, **LINES}, "Weight of each line", "dark"),
    ],
)
def test_everything_has_a_name_and_can_be_read(show, expect, outputs, table, scheme):
    page = show(outputs, viewport={"width": 360, "height": 740}, color_scheme=scheme)
    assert page.evaluate(CHECKS) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.get_by_role("table", name=table)).to_have_count(1)
    card = tone(page.locator("#form"), "backgroundColor")
    read = page.locator(".tagged .tag, .ranked .quiet, .said, .reading, .weighed-line .quiet, .scale")
    for place in range(read.count()):
        assert contrast(tone(read.nth(place), "color"), card) >= 4.5, place
    drawn = page.locator(".tree text, .leaf-word text, .root")
    for place in range(drawn.count()):
        assert contrast(tone(drawn.nth(place), "fill"), card) >= 4.5, place
