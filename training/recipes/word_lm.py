"""Word language model: the continuation of a sentence, one word at a time.

    seqattn train word_lm --data brown
    seqattn train word_lm --data brown --set softmax=sampled
    seqattn train word_lm --data brown --set softmax=adaptive --set tie_embeddings=false
    seqattn evaluate runs/word_lm --data brown      # compared with a Kneser-Ney 5-gram model of the same vocabulary

Data: the Brown corpus, split by position. Network: LSTM layers; the score of a word is the product of its embedding and
the last output. Loss: cross-entropy of the next word; `softmax` selects the words over which a step computes it.
Metric: perplexity over the whole vocabulary, including the ends of sentences, with all unknown words as one word.
"""

import dataclasses

from seqattn_tf.training.data.corpora import brown
from seqattn_tf.training.recipes.base import Recipe
from seqattn_tf.training.tasks import LanguageSettings, LanguageTask

FULL = LanguageSettings(
    tokenizer="spaces",
    min_count=3,
    tie_embeddings=True,
    units=512,
    embedding=512,
    depth=2,
    dropout=0.5,
    batch_size=32,
    epochs=30,
    learning_rate=1e-3,
    warmup_steps=500,
    patience=4,
    max_source_length=200,
    max_target_length=60,
)

recipe = Recipe(
    name="word_lm",
    summary="words -> continuation of the sentence (Brown)",
    load=lambda data, settings: brown.load(data),
    task=LanguageTask(order=5),
    settings=FULL,
    small=dataclasses.replace(
        FULL,
        vocabulary=5000,
        units=128,
        embedding=128,
        depth=1,
        dropout=0.2,
        batch_size=64,
        epochs=4,
        learning_rate=3e-3,
        warmup_steps=100,
    ),
)
