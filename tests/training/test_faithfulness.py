"""Erasing the inputs with the largest attention: all numbers compared with direct queries."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.readers import clear, tagger
from support.slow import slow

from seqattn_tf.encoders import BidirectionalEncoder, DocumentEncoder, FactsEncoder, HeadsEncoder, TreeEncoder
from seqattn_tf.lite.fields import Lines, Text, TreeText
from seqattn_tf.lite.targets import Label
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import (
    Classifier,
    ClassifierNetwork,
    Entailment,
    EntailmentNetwork,
    MemoryAnswerer,
    MemoryNetwork,
)
from seqattn_tf.training.data import Example
from seqattn_tf.training.faithfulness import faithfulness

pytestmark = pytest.mark.usefixtures("eagerly")

RULES = SymbolRules(("\n", "a", "dog", "runs", "sleeps", "not"), "spaces", unknown=True)
WORDS, LINES, LABELS = Text(RULES), Lines(RULES, 200), Label(("no", "maybe", "yes"))
MARK = RULES.ids["\n"]


def classifier(encoder, pool="attention", field=WORDS, **more):
    keras.utils.set_random_seed(3)
    return Classifier(clear(ClassifierNetwork(encoder, 3, pool, **more)), {"text": field}, LABELS)


def flat(pool="attention"):
    return classifier(BidirectionalEncoder(RULES.size, units=5, embedding=4), pool)


def alone(pool="attention"):
    """Return a model that encodes every word separately."""
    return classifier(HeadsEncoder(RULES.size, "none", units=5, embedding=4), pool)


def document():
    return classifier(DocumentEncoder(RULES.size, MARK, units=5, embedding=4), field=LINES)


def entailment():
    keras.utils.set_random_seed(1)
    network = clear(EntailmentNetwork(HeadsEncoder(RULES.size, "softmax", units=4, embedding=5), 3, units=6))
    return Entailment(network, {"premise": WORDS, "hypothesis": WORDS}, LABELS)


def answerer():
    keras.utils.set_random_seed(2)
    network = clear(MemoryNetwork(FactsEncoder(RULES.size, MARK, embedding=5, max_lines=4), 3, 2, units=4))
    return MemoryAnswerer(network, {"story": LINES, "question": WORDS}, LABELS)


MODELS = {
    "flat": (flat, {"text": "a dog runs not"}, ["text"]),
    "document": (document, {"text": "a dog runs\na\nnot dog"}, ["text_lines"]),
    "entailment": (entailment, {"premise": "a dog runs", "hypothesis": "not a dog"}, ["premise", "hypothesis"]),
    "answerer": (answerer, {"story": "a dog\nruns\ndog sleeps not", "question": "a dog"}, ["story_lines"]),
}


def example(row):
    return Example("a key", row, "yes")


def by_hand(model, row, looks):
    """Return the answer's probability without each unit of a row, the gradient for each, and the weight of each."""
    [answer] = model.answer([row])
    tensors, _ = model.read({name: tf.constant([value.encode()]) for name, value in row.items()})
    number = LABELS.labels.index(answer.text)
    without, slopes, weights = [], [], []
    for look in looks:
        name = look.removesuffix("_lines")
        ids = tensors[f"{name}_ids"].numpy()[0]
        unit_of = np.cumsum(ids == MARK) if look != name else np.arange(len(ids))
        for unit in range(unit_of.max() + 1):

            def probability(share, unit=unit, unit_of=unit_of, ids=ids, name=name):
                kept = np.where((unit_of == unit) & (ids != MARK), share, 1.0)
                logits = model.network({**tensors, f"{name}_token_weights": tf.constant([kept], tf.float32)})
                return float(tf.nn.softmax(logits)[0, number])

            without.append(probability(0.0))
            slopes.append((probability(1.01) - probability(0.99)) / 0.02)
        found = answer.attention[look].weights
        weights.extend(found.sum(axis=0) * found.shape[1] / found.sum())
    return np.exp(answer.score), *map(np.array, (without, slopes, weights))


@pytest.mark.parametrize("name", [slow(name) if name in ("document", "entailment") else name for name in MODELS])
def test_one_word_or_line_is_erased_as_by_hand(name):
    make, row, looks = MODELS[name]
    model = make()
    before, without, slopes, weights = by_hand(model, row, looks)
    found = faithfulness(model, [example(row)], counts=[1])
    assert found.erased == ("lines" if looks[0].endswith("_lines") else "words")
    assert found.probability == pytest.approx(before, abs=1e-5)
    [(label, rows, drop)] = found.drops["attention"]
    assert (label, rows) == ("1", 1)
    assert drop == pytest.approx(before - without[weights.argmax()], abs=1e-5)
    assert found.drops["gradient"][0][2] == pytest.approx(before - without[slopes.argmax()], abs=1e-5)
    many = faithfulness(model, [example(row)] * 200, counts=[1], batch_size=200)
    assert many.drops["random"][0][2] == pytest.approx((before - without).mean(), abs=0.1 * np.ptp(without) + 1e-4)


def test_the_gradient_chooses_what_counts_where_all_is_linear():
    model = alone()
    encoder = model.network.encoder  # small embeddings, so that the answer is linear in all words
    encoder.embedding.embeddings.assign(encoder.embedding.embeddings * 1e-2)
    row = {"text": "a dog runs not sleeps"}
    before, without, _, _ = by_hand(model, row, ["text"])
    found = faithfulness(model, [example(row)], counts=[1, 2])
    drops = {label: drop for label, _, drop in found.drops["gradient"]}
    assert drops["1"] == pytest.approx((before - without).max(), abs=2e-7)
    assert drops["2"] > drops["1"]  # includes the second largest


def test_a_row_counts_where_something_is_left():
    rows = [{"text": "a dog runs"}, {"text": "dog"}, {"text": ""}, {"text": "not a dog runs dog runs"}]
    found = faithfulness(alone(), [example(row) for row in rows], counts=[1, 3])
    for choice in ("attention", "gradient", "random"):
        assert [(label, count) for label, count, _ in found.drops[choice]] == [("1", 2), ("3", 1)]
    with pytest.raises(ValueError, match=r"rows with more than 1 positions\. Received: none"):
        faithfulness(alone(), [example(row) for row in rows[1:3]], counts=[1])


def test_rows_are_drawn_and_the_draw_is_the_same():
    rows = [example({"text": " ".join(["dog", "runs", "not", "a"][: 2 + i % 3])}) for i in range(12)]
    model = alone()
    found = [faithfulness(model, rows, counts=[1], limit=7, batch_size=4) for _ in range(2)]
    assert found[0] == found[1]
    assert found[0].drops["random"][0][1] == 7


def test_chance_takes_lines_that_are_read_alone():
    model, long = answerer(), {"story": "\n".join(["a dog"] * 30 + ["runs", "sleeps", "dog not", "a"]), "question": "a"}
    short = {**long, "story": "\n".join(long["story"].split("\n")[-4:])}
    many, few = (faithfulness(model, [example(row)] * 100, counts=[3, 5]) for row in (long, short))
    assert [label for label, _, _ in many.drops["random"]] == ["3"]  # of four input words, erasing five is impossible
    assert many.drops["random"][0][2] == pytest.approx(few.drops["random"][0][2], abs=0.1)
    assert many.drops["attention"][0][2] == pytest.approx(few.drops["attention"][0][2], abs=1e-5)


def test_a_row_that_cannot_be_read_is_told():
    long, lacking = example({"text": "a " * 65}), example({"other": "a"})
    with pytest.raises(ValueError, match="text: expected at most 64 symbols"):
        faithfulness(alone(), [long])
    with pytest.raises(ValueError, match=r"examples: expected text in each\. Received: an example without it"):
        faithfulness(alone(), [lacking])


def test_what_cannot_be_asked_is_refused_by_name():
    tree = TreeText(SymbolRules(("a", "dog"), "spaces", unknown=True))
    trees = classifier(TreeEncoder(tree.rules.size, units=4), "last", tree, everywhere=True)
    with pytest.raises(ValueError, match=r"expected a model that predicts a label\. Received: tagger"):
        faithfulness(tagger(), [])
    for model in (alone("average"), trees):
        with pytest.raises(ValueError, match=r"attention over a text \(pool=attention\)\. Received: none"):
            faithfulness(model, [example({"text": "a dog"})])
