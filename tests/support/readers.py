"""A small tagger, parser and classifier of each kind, with unambiguous choices."""

import functools

import keras

from seqattn_tf.encoders import BidirectionalEncoder, DocumentEncoder, TreeEncoder, WordEncoder
from seqattn_tf.lite.fields import Lines, Text, TreeText, Words
from seqattn_tf.lite.targets import ChainTags, Label, Tree
from seqattn_tf.models import Classifier, ClassifierNetwork, Parser, ParserNetwork, Tagger, TaggerNetwork

SEEN = ["The dog barks .", "A cat did n't sleep !\nDogs bark .", "It 's good\nnot bad"]
TAGS, RELATIONS, LABELS = ("B-X", "I-X", "O"), ("dep", "obj", "root"), ("bad", "good", "very good")
SMALL = {"units": 6, "embedding": 5}
TEXTS = ["The dog barks.", "", "cat", "Zebras quack loudly \u00e0 Paris", "it 's not good at all , is n't it ?"]


def clear(network):
    """Set large weights, so that rounding does not change a choice."""
    network.build()
    for weight in network.weights:
        if weight.trainable:
            weight.assign(3 * weight.numpy())
    return network


def words():
    return Words.learn(SEEN, limit=12)


def tagger(alternatives=2, **network):
    field = words()
    made = TaggerNetwork(WordEncoder(**field.sizes, **SMALL), TAGS, **network)
    return Tagger(clear(made), {"text": field}, ChainTags(TAGS), alternatives=alternatives)


def parser(projective=True, **network):
    field = words()
    made = ParserNetwork(WordEncoder(**field.sizes, **SMALL), 3, arc_units=5, relation_units=4, **network)
    return Parser(clear(made), {"text": field}, Tree(RELATIONS, projective))


def classifier(field, encoder, **network):
    return Classifier(clear(ClassifierNetwork(encoder, 3, **network)), {"text": field}, Label(LABELS))


def flat(pool="attention"):
    field = Text.learn([*SEEN, "rare"], tokenizer="tokens", limit=12, vocabulary=17)
    return classifier(field, BidirectionalEncoder(**field.sizes, **SMALL), pool=pool)


def document(pool="attention"):
    field = Lines.learn([*SEEN, "rare"], tokenizer="tokens", limit=12, vocabulary=17)
    return classifier(field, DocumentEncoder(**field.sizes, **SMALL, max_lines=2, pool=pool), pool=pool)


def tree(everywhere=True):
    field = TreeText.learn(SEEN, limit=12)
    return classifier(field, TreeEncoder(**field.sizes, **SMALL), everywhere=everywhere)


READERS = {
    "tagger": lambda: tagger(scheme="BIO"),
    "softmax": lambda: tagger(output="softmax", alternatives=0),
    "projective": parser,
    "spanning": lambda: parser(projective=False),
    "attention": flat,
    "document": document,
    "two levels": lambda: document("last"),
    "tree": tree,
}


@functools.cache
def small(name):
    """Return the model of this name, traced once for all tests of a process."""
    keras.utils.set_random_seed(3)
    return READERS[name]()
