"""Entailment and answers about stories: two inputs, compared with NumPy, alone, in a batch, saved and exported."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.edge import assert_same_on_the_edge
from support.readers import clear, parser
from support.slow import slow

from seqattn_tf.encoders import DocumentEncoder, FactsEncoder, HeadsEncoder, LineEncoder, ParentsEncoder
from seqattn_tf.export.comparison import difference
from seqattn_tf.export.package import FORMS, export_model
from seqattn_tf.inputs import graph_field
from seqattn_tf.lite.fields import Lines, ParsedWords, Text
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.lite.targets import Label, Symbols
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import Entailment, EntailmentNetwork, MemoryAnswerer, MemoryNetwork, Seq2Seq, load
from seqattn_tf.models.networks.encoder_decoder import EncoderDecoder

WORDS = Text(SymbolRules(("a", "dog", "runs", "sleeps", "not"), "spaces", unknown=True), limit=12)
STORY = SymbolRules(("\n", "mary", "john", "went", "home", "out", "where", "is"), "spaces", unknown=True)
LABELS = Label(("no", "maybe", "yes"))
PAIRS = [
    {"premise": "a dog runs", "hypothesis": "a dog"},
    {"premise": "", "hypothesis": "a dog"},
    {"premise": "a dog runs not", "hypothesis": ""},
    {"premise": "dog", "hypothesis": "zebra sleeps not"},
]
PARSED = [
    {"premise": "The dog did n't bark .", "hypothesis": "dog"},
    {"premise": "", "hypothesis": "a dog"},
    {"premise": "Dogs bark not", "hypothesis": ""},
    {"premise": "It 's good", "hypothesis": "A zebra quacks, is n't it?"},
]
STORIES = [
    {"story": "mary went home\njohn went out\nmary went out", "question": "where is mary"},
    {"story": "john went out", "question": "where is zoe"},
    {"story": "", "question": "where is mary"},
    {"story": "john went out", "question": ""},
    {
        "story": "\n".join(f"{who} went {where}" for who in ("mary", "john") for where in ("home", "out", "home")),
        "question": "is john out",
    },
]


def entailment(heads, **more):
    keras.utils.set_random_seed(1)
    encoder = HeadsEncoder(WORDS.rules.size, heads, projection_units=3, units=4, embedding=5)
    network = clear(EntailmentNetwork(encoder, 3, units=6, **more))
    return Entailment(network, {"premise": WORDS, "hypothesis": WORDS}, LABELS)


def with_parents():
    reads = parser()
    reads.network.arc_kernel.assign(0.01 * reads.network.arc_kernel)  # relations influence the heads as well
    field = reads.inputs["text"]
    own = SymbolRules(
        ("the", "dog", "barks", "not", "good"),
        field.rules.tokenizer,
        field.rules.lowercase,
        field.rules.strip_accents,
        unknown=True,
    )
    both = ParsedWords.beside(own, field, 50)
    keras.utils.set_random_seed(1)
    encoder = ParentsEncoder(own.size, reads.network, projection_units=3, embedding=5)
    before = [weight.numpy() for weight in reads.network.weights]
    network = clear(EntailmentNetwork(encoder, 3, units=6))
    assert all((old == new.numpy()).all() for old, new in zip(before, reads.network.weights, strict=True))
    return reads, Entailment(network, dict.fromkeys(("premise", "hypothesis"), both), LABELS)


def answerer(form, max_lines=4, hops=2, limit=200, seed=2, **more):
    keras.utils.set_random_seed(seed)
    encoder = FactsEncoder(STORY.size, STORY.ids["\n"], embedding=5, max_lines=max_lines)
    network = clear(MemoryNetwork(encoder, 3, hops, form, units=4, **more))
    return MemoryAnswerer(network, {"story": Lines(STORY, limit), "question": Text(STORY, 12)}, LABELS)


MADE = {
    "none": lambda: (entailment("none"), PAIRS),
    "softmax": lambda: (entailment("softmax"), PAIRS),
    "projective": lambda: (entailment("projective"), PAIRS),
    "spanning": lambda: (entailment("spanning"), PAIRS),
    "parents": lambda: (with_parents()[1], PARSED),
    "hops": lambda: (answerer("hops"), STORIES),
    "chain": lambda: (answerer("chain"), STORIES),
    "independent": lambda: (answerer("independent"), STORIES),
}


QUICK = ("none", "hops", "chain")  # the trees of the other models are tested below


@pytest.fixture(scope="module", params=[name if name in QUICK else slow(name) for name in MADE])
def made(request):
    return MADE[request.param]()


def test_an_answer_is_the_same_alone_in_a_batch_and_from_a_folder(made, tmp_path):
    model, rows = made
    together = model.answer(rows)
    model.save(tmp_path)
    for row, answer, saved in zip(rows, together, load(tmp_path).answer(rows), strict=True):
        [alone] = model.answer([row])
        assert difference(answer, alone, 1e-4) == difference(answer, saved, 1e-4) == ""
        assert (answer.text == "") == (answer.score == -np.inf) == (not all(row.values()))


@pytest.mark.traced
def test_a_chain_of_facts_is_the_same_on_the_edge(tmp_path):
    model, rows = MADE["chain"]()
    assert_same_on_the_edge(model, tmp_path, rows, 1e-3)


@pytest.mark.slow
@pytest.mark.traced
@pytest.mark.parametrize("name", MADE)
def test_every_form_answers_alike(name, tmp_path):
    model, rows = MADE[name]()
    if name == "spanning":
        alone = export_model(model, tmp_path / "models/m", {"examples": rows}, forms=FORMS[:1])
        assert alone.agreeing == {"SavedModel": alone.rows}
        assert not alone.lite.exists()
        return
    exported = export_model(model, tmp_path / "models/m", {"examples": rows})
    assert set(exported.agreeing.values()) == {exported.rows}
    for answer, edge in zip(model.answer(rows), LiteModel(exported.lite).answer(rows), strict=True):
        assert difference(answer, edge, 1e-3) == ""


def test_spanning_trees_are_refused_for_litert_by_name_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"LiteRT: expected .*Received: heads of spanning trees .*--no-lite"):
        export_model(entailment("spanning"), tmp_path / "models/m", {})
    assert not (tmp_path / "models").exists()


def test_a_picture_is_drawn_of_every_look(made):
    model, rows = made
    for look in model.attention_maps:
        assert model.explain(rows[0], look).axes


def test_a_network_comes_back_from_its_config(made):
    network = made[0].network
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(network))
    assert again.get_config() == network.get_config()


# Entailment


def softmax(scores):
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def steps(network, name, values):
    for layer in network.steps_of[name]:
        values = np.maximum(values @ layer.kernel.numpy() + layer.bias.numpy(), 0)
    return values


@pytest.mark.parametrize("differences", [False, True])
def test_entailment_in_numbers(differences):
    model = entailment("none", differences=differences)
    network, encoder = model.network, model.network.encoder
    table = encoder.embedding.embeddings.numpy() @ encoder.projection.numpy()
    a, b = (table[WORDS.arrays(text)["ids"]] for text in PAIRS[0].values())
    scores = steps(network, "attend", a) @ steps(network, "attend", b).T

    def compared(one, found):
        both = [one, found, one - found, one * found] if differences else [one, found]
        return steps(network, "compare", np.concatenate(both, axis=1)).sum(axis=0)

    first, second = compared(a, softmax(scores) @ b), compared(b, softmax(scores.T) @ a)
    joined = steps(network, "aggregate", np.concatenate([first, second]))
    expected = softmax(joined @ network.decide.kernel.numpy() + network.decide.bias.numpy())
    [answer] = model.answer(PAIRS[:1])
    found = {answer.text: answer.score, **dict(answer.alternatives)}
    np.testing.assert_allclose([np.exp(found[label]) for label in LABELS.labels], expected, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(answer.attention["hypothesis"].weights, softmax(scores), rtol=1e-4)
    np.testing.assert_allclose(answer.attention["premise"].weights, softmax(scores.T), rtol=1e-4)
    assert answer.attention["premise"].queries == ("a", "dog")
    assert answer.attention["premise"].keys == ("a", "dog", "runs")


@pytest.mark.parametrize("heads", [slow("projective"), "spanning"])
def test_soft_heads_are_those_of_trees_and_the_best_tree_is_told(heads):
    [answer] = entailment(heads).answer([{"premise": "a dog runs not", "hypothesis": "dog"}])
    look, best = answer.attention["premise_heads"], answer.extra["premise_heads"]
    assert look.queries == look.keys == ("a", "dog", "runs", "not")
    np.testing.assert_allclose(4 - look.weights.sum(), 1, atol=1e-4)  # one root
    assert not look.weights.diagonal().any()
    assert list(best).count(0) == 1
    assert list(answer.extra["hypothesis_heads"]) == [0]
    assert answer.attention["hypothesis_heads"].weights.tolist() == [[0.0]]


def test_a_word_is_read_beside_the_mean_of_its_heads():
    encoder = HeadsEncoder(20, "softmax", units=4, embedding=3)
    read = encoder({"text_ids": tf.constant([[5, 6, 7, 0]])})
    words = encoder.embedding.embeddings.numpy()[[5, 6, 7]]
    weights = read.attention["heads"].numpy()[0]
    np.testing.assert_allclose(weights[:3].sum(axis=1), 1, atol=1e-5)
    assert not weights[3].any()
    assert not weights[:, 3].any()
    np.testing.assert_allclose(read.values[0, :3], np.concatenate([words, weights[:3, :3] @ words], axis=1), rtol=1e-5)
    np.testing.assert_allclose(read.summary[0], read.values[0, :3].numpy().mean(axis=0), rtol=1e-5)
    assert entailment("softmax").explanatory_maps == ["premise", "hypothesis"]  # not those within a text
    alone = HeadsEncoder(20, "none", units=4, embedding=3)
    assert alone({"text_ids": tf.constant([[5, 6]])}).values.shape.as_list() == [1, 2, 3]
    assert not any("bidirectional" in weight.path for weight in alone.weights)
    with pytest.raises(ValueError, match="head_attention: expected one of"):
        HeadsEncoder(20, "parent")


def test_a_word_is_read_beside_the_parent_that_the_parser_says():
    reads, model = with_parents()
    texts = [row["premise"] for row in PARSED if row["premise"]]
    parsed = reads.answer(texts)
    encoder, field = model.network.encoder, model.inputs["premise"]
    tensors = {
        f"text_{name}": value for name, value in graph_field(field, "text").read(tf.constant(texts)).tensors.items()
    }
    read = encoder(tensors, training=True)  # trees are predicted in training too
    pairs = model.answer([{"premise": text, "hypothesis": "dog"} for text in texts])
    for row, (answer, pair) in enumerate(zip(parsed, pairs, strict=True)):
        parents = [int(token.partition(":")[0]) for token in answer.tokens]
        assert read.trees[row].numpy().tolist()[: len(parents)] == parents
        assert not read.trees[row, len(parents) :].numpy().any()
        words = encoder.embed(tensors)[row].numpy()
        held = np.stack([words[parent - 1] if parent else np.zeros(3) for parent in parents])
        expected = np.concatenate([words[: len(parents)], held], axis=1)
        np.testing.assert_allclose(read.values[row, : len(parents)], expected, rtol=1e-5)
        assert list(pair.extra["premise_heads"]) == parents
        assert (pair.attention["premise_heads"].weights == np.eye(len(parents) + 1)[parents][:, 1:]).all()
    again = ParentsEncoder.from_config(encoder.get_config())  # what only this encoder leaves out of its configuration
    assert again.get_config() == encoder.get_config()


@pytest.mark.slow
def test_a_parser_stays_as_it_is_while_the_rest_learns(tmp_path):
    reads, model = with_parents()
    network = model.network
    tensors, _ = model.read({key: tf.constant([row[key] for row in PARSED]) for key in model.inputs})
    before = [weight.numpy() for weight in reads.network.weights]
    network.compile(keras.optimizers.Adam(0.1), model.graph_target.loss(), jit_compile=False)
    first = network.encoder.embedding.embeddings.numpy()
    network.fit(tensors, tf.constant([0, 1, 2, 1]), batch_size=4, verbose=0)
    assert all((old == new.numpy()).all() for old, new in zip(before, reads.network.weights, strict=True))
    assert np.abs(network.encoder.embedding.embeddings.numpy() - first).max() > 0.01
    model.save(tmp_path)
    assert len(load(tmp_path).network.trainable_variables) == len(network.trainable_variables)
    with pytest.raises(ValueError, match="parser: expected a parser for the words"):
        ParsedWords.learn(["a dog"])


def test_a_field_and_its_parser_cut_alike():
    rules = SymbolRules(("a",), "spaces", unknown=True)
    with pytest.raises(ValueError, match=r"rules: expected the parser's tokenizer, 'tokens'\. Received: 'spaces'"):
        ParsedWords.beside(rules, parser().inputs["text"], 50)
    assert ParsedWords.beside(parser().inputs["text"].rules, parser().inputs["text"], 50).limit == 12


def test_an_encoder_decoder_over_soft_heads_tells_its_tree():
    rules = SymbolRules(tuple("abcd"), "spaces")
    network = EncoderDecoder.of_symbols(rules.size, rules.size, units=5, encoder="heads", head_attention="projective")
    model = Seq2Seq(network, {"text": Text(rules)}, Symbols(rules, 6), beam_width=2)
    for text, count in (("a b c", 3), ("d", 1), ("", 0)):
        [answer] = model.answer([text])
        assert answer.attention["text_heads"].weights.shape == (count, count)
        assert len(answer.extra["text_heads"]) == count
        assert answer.attention["text"].weights.shape == (len(answer.tokens), count)


def test_what_is_lacking_or_does_not_fit_is_refused():
    model = entailment("none")
    with pytest.raises(ValueError, match=r"inputs: expected premise and hypothesis\. Received: \['premise'\]"):
        Entailment(model.network, {"premise": WORDS}, LABELS)
    with pytest.raises(ValueError, match=r"target: expected size 3, as in the network\. Received: 2"):
        Entailment(model.network, model.inputs, Label(("a", "b")))
    for kind in (DocumentEncoder, LineEncoder):
        with pytest.raises(ValueError, match="encoder: expected an encoder with one output per token"):
            EntailmentNetwork(kind(30, mark=9), 3)
    for kind in (DocumentEncoder, LineEncoder, FactsEncoder):
        with pytest.raises(ValueError, match=r"max_line_length: expected a positive integer\. Received: 0"):
            kind(30, mark=9, max_line_length=0)
    with pytest.raises(ValueError, match="expected at most 12 symbols"):
        model.answer([{"premise": "a " * 13, "hypothesis": "a"}])
    story = answerer("hops")
    with pytest.raises(ValueError, match=r"inputs: expected story and question\. Received: \['story'\]"):
        MemoryAnswerer(story.network, {"story": story.inputs["story"]}, LABELS)
    with pytest.raises(ValueError, match=r"target: expected size 3, as in the network\. Received: 2"):
        MemoryAnswerer(story.network, story.inputs, Label(("a", "b")))
    with pytest.raises(ValueError, match="form: expected one of"):
        answerer("tree")


# Answers


def by_hand(model, row):
    """Maps of the facts, one for each hop and one more, and the question, in NumPy."""
    network = model.network
    table = network.encoder.embedding.embeddings.numpy()

    def sentence(words):
        count, size = len(words), table.shape[1]
        found = np.zeros(size)
        for j, word in enumerate(words, 1):
            weights = (1 - j / count) - np.arange(1, size + 1) / size * (1 - 2 * j / count)
            found += weights * table[STORY.ids.get(word, 3)]
        return found

    facts = np.stack([sentence(line.split()) for line in row["story"].split("\n")][-network.encoder.max_lines :])
    ages = np.arange(len(facts))[::-1]
    memory = network.memory
    maps = [facts @ k.numpy() + t.numpy()[ages] for k, t in zip(memory.kernels, memory.ages, strict=True)]
    return maps, sentence(row["question"].split()) @ network.question.numpy()


def check(answer, found, weights, best, model):
    logits = found @ model.network.kernel.numpy()
    told = {answer.text: answer.score, **dict(answer.alternatives)}
    scores = np.array([told[label] for label in LABELS.labels])
    np.testing.assert_allclose(np.diff(scores), np.diff(logits), rtol=1e-3, atol=1e-3)
    look = answer.attention["story_lines"].weights
    skipped = look.shape[1] - weights.shape[1]
    assert not look[:, :skipped].any()
    np.testing.assert_allclose(look[:, skipped:], weights, atol=1e-4)
    assert list(answer.extra["facts"]) == [place + 1 + skipped for place in best]


@pytest.mark.parametrize("row", [STORIES[0], STORIES[1], STORIES[4]])
def test_looks_one_after_the_other_in_numbers(row):
    model = answerer("hops")
    maps, query = by_hand(model, row)
    looks = []
    for k in range(2):
        looks.append(softmax(maps[k] @ query))
        query = query + looks[-1] @ maps[k + 1]
    check(model.answer([row])[0], query, np.stack(looks), [look.argmax() for look in looks], model)


@pytest.mark.parametrize(("form", "last"), [("chain", False), ("chain", True), ("independent", True)])
@pytest.mark.parametrize("row", [STORIES[0], STORIES[1], STORIES[4]])
def test_a_chain_of_facts_by_enumeration(form, last, row):
    model = answerer(form, hops=3, answer_from_last=last)
    maps, query = by_hand(model, row)
    questions = [query]
    for _ in range(3):
        questions.append(questions[-1] @ model.network.memory.query_kernel.numpy())
    count = len(maps[0])
    sequences = list(itertools.product(range(count), repeat=3))
    scores = []
    for chosen in sequences:
        score = sum(maps[k][place] @ questions[k] for k, place in enumerate(chosen))
        if form == "chain":
            score += sum(maps[k][chosen[k]] @ maps[k + 1][chosen[k + 1]] for k in range(2))
        scores.append(score)
    shares = softmax(np.array(scores))
    weights = np.zeros([3, count])
    for chosen, share in zip(sequences, shares, strict=True):
        weights[range(3), list(chosen)] += share
    found = questions[3] + sum(weights[k] @ maps[k + 1] for k in ([2] if last else range(3)))
    check(model.answer([row])[0], found, weights, sequences[int(np.argmax(scores))], model)


def test_training_starts_without_the_softmax_and_goes_on_with_it():
    model = answerer("hops", linear_start_steps=2)
    tensors, _ = model.read({name: tf.constant([STORIES[0][name]]) for name in ("story", "question")})
    maps, query = by_hand(model, STORIES[0])
    network = model.network
    for step in range(4):
        straight = maps[0] @ query
        expected = straight if step < 2 else softmax(straight)
        _, weights, _ = network.look(tensors, training=True)
        np.testing.assert_allclose(weights[0, 0, -3:], expected, atol=1e-4)
        assert float(network.steps) == step + 1
    assert not any("steps" in weight.path for weight in network.trainable_variables)


def test_of_three_hundred_facts_the_last_are_read():
    model = answerer("chain", max_lines=3, limit=2000)
    long = {"story": "\n".join(["mary went home", "john went out"] * 150), "question": "where is mary"}
    [answer] = model.answer([long])
    weights = answer.attention["story_lines"].weights
    assert weights.shape == (2, 300)
    assert not weights[:, :297].any()
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
    assert all(298 <= fact <= 300 for fact in answer.extra["facts"])


@pytest.mark.parametrize("form", ["hops", "chain"])
def test_half_precision(form):
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = answerer(form)
    finally:
        keras.config.set_dtype_policy("float32")
    [answer] = model.answer(STORIES[:1])
    assert np.isfinite(answer.score)
    np.testing.assert_allclose(answer.attention["story_lines"].weights.sum(axis=1), 1, atol=2e-3)


def test_a_story_of_marks_alone_is_nothing():
    model = answerer("hops")
    mark = STORY.ids["\n"]
    given = {"story_ids": [[mark, mark, mark]], "story_lengths": [3], "question_ids": [[5]], "question_lengths": [1]}
    found = model.serve_tensors(**{name: tf.constant(value) for name, value in given.items()})
    assert found["scores"].numpy()[0, 0] == -np.inf
    assert not found["facts"].numpy().any()


def test_looks_of_a_linear_start_are_told_as_weights():
    for seed in range(4):
        model = answerer("hops", linear_start_steps=9, seed=seed)
        [answer] = model.answer(STORIES[1:2])
        look = answer.attention["story_lines"]
        np.testing.assert_allclose(look.weights, 1, atol=1e-5)  # all weight is on the only fact
        assert list(answer.extra["facts"]) == [1, 1]
        assert model.explain(STORIES[0]).axes
    expected = r"linear_start_steps: expected 0 unless attention_form is hops\. Received: 9 for chain"
    with pytest.raises(ValueError, match=expected):
        answerer("chain", linear_start_steps=9)


@pytest.mark.parametrize("name", ["projective", "hops", "chain"])
def test_gradients_reach_every_weight_and_padding_none(name):
    model, rows = MADE[name]()
    rows = [row for row in rows if all(row.values())]
    tensors, _ = model.read({key: tf.constant([row[key] for row in rows]) for key in model.inputs})
    wide = {key: tf.pad(value, [[0, 0], [0, 2]]) for key, value in tensors.items()}

    def slopes(given):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.log_softmax(model.network(given, training=True))[:, 1])
        found = tape.gradient(loss, model.network.trainable_variables)
        return [tf.convert_to_tensor(one).numpy() for one in found]

    for variable, one, other in zip(model.network.trainable_variables, slopes(tensors), slopes(wide), strict=True):
        assert np.abs(one).max() > 0, variable.path
        np.testing.assert_allclose(one, other, atol=1e-4 * max(1, np.abs(one).max()))
