"""Captioners: four kinds of conditioning, the attention losses, and training with hard attention."""

import io

import keras
import numpy as np
import pytest
import tensorflow as tf

from seqattn_tf.attention.losses import alignment_loss, doubly_stochastic
from seqattn_tf.encoders import GridEncoder
from seqattn_tf.lite.fields import Image
from seqattn_tf.lite.targets import Symbols
from seqattn_tf.lite.text import SymbolRules
from seqattn_tf.models import Captioner, CaptionNetwork, load
from seqattn_tf.models.networks.caption import CONDITIONINGS, answer_likelihood
from seqattn_tf.vision import ConvolutionalBackbone

WORDS = SymbolRules(("a", "dog", "cat", "runs"), tokenizer="spaces")
SHIFTED = tf.constant([[1, 3, 4, 6], [1, 5, 0, 0]])
PIXELS = tf.constant(np.random.default_rng(0).uniform(0, 255, [2, 16, 24, 3]), "float32")
TENSORS = {"image_pixels": PIXELS, "shifted": SHIFTED}


def network(conditioning="soft", **arguments):
    keras.utils.set_random_seed(3)
    encoder = GridEncoder(ConvolutionalBackbone((4, 6)), 16, 24)
    made = CaptionNetwork.of_pictures(encoder, WORDS.size, conditioning=conditioning, units=8, embedding=4, **arguments)
    made.build()
    return made


def captioner(*arguments, **named):
    return Captioner(network(*arguments, **named), {"image": Image(16, 24)}, Symbols(WORDS, 5), max_length_ratio=0)


def bytes_of(pixels, form="PNG"):
    from PIL import Image as Pillow

    data = io.BytesIO()
    Pillow.fromarray(np.asarray(pixels).astype(np.uint8)).save(data, form)
    return data.getvalue()


@pytest.mark.parametrize("conditioning", sorted(CONDITIONINGS))
def test_every_conditioning_answers_saves_and_comes_back(conditioning, tmp_path):
    model = captioner(conditioning, doubly_stochastic_weight=0.0)
    pictures = [bytes_of(row) for row in PIXELS]
    answers = model.answer(pictures)
    assert (conditioning in ("soft", "hard")) == ("image" in answers[0].attention)
    for answer in answers:
        if look := answer.attention.get("image"):
            assert look.weights.shape == (len(look.queries), 4, 6)
            np.testing.assert_allclose(look.weights.sum((1, 2)), 1, atol=1e-5)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is Captioner
    assert [answer.text for answer in again.answer(pictures)] == [answer.text for answer in answers]
    assert again.answer(pictures)[0].score == pytest.approx(answers[0].score, abs=1e-5)


def test_what_the_decoder_sees_is_what_its_conditioning_says():
    blank = {**TENSORS, "image_pixels": tf.zeros_like(PIXELS)}
    for conditioning in CONDITIONINGS:
        made = network(conditioning)
        assert float(tf.reduce_max(abs(made(TENSORS) - made(blank)))) > 1e-4
    state = network("state")
    memory, _ = state.decoder.begin(*state.encoder(TENSORS)[:2], state.encoder(TENSORS).summary)
    assert not memory.mask.numpy().any()  # after the initial state, there is nothing to attend to
    assert network("input").encoder(TENSORS).mask.numpy().all()


def test_the_penalty_is_of_the_steps_that_say_something():
    made = network(doubly_stochastic_weight=2.0)
    made(TENSORS, training=True)
    [loss] = made.losses
    read = made.encoder(TENSORS)
    _, weights = made.decoder(SHIFTED, read.values, mask=read.mask, summary=read.summary)
    lacking = doubly_stochastic(weights, steps=SHIFTED != 0) / 24
    assert float(loss) == pytest.approx(2 * float(tf.reduce_mean(lacking)), rel=1e-5)
    made(TENSORS)
    assert not made.losses  # there are no losses outside training


def test_words_are_told_where_to_look():
    regions = np.zeros([2, 4, 24], "float32")
    regions[0, 1, 5] = regions[1, 0, 7] = regions[1, 0, 8] = 1
    tensors = {**TENSORS, "image_regions": tf.constant(regions)}
    made = network(attention_supervision=0.5)
    optimizer = keras.optimizers.Adam(0.15)
    for _ in range(8):
        with tf.GradientTape() as tape:
            made(tensors, training=True)
            [loss] = made.losses
        optimizer.apply(tape.gradient(loss, made.trainable_weights), made.trainable_weights)
    read = made.encoder(tensors)
    _, weights = made.decoder(SHIFTED, read.values, mask=read.mask, summary=read.summary)
    assert float(loss) == pytest.approx(0.5 * float(tf.reduce_mean(alignment_loss(weights, regions))), rel=0.1)
    assert weights.numpy()[0, 1, 5] > 0.9
    assert weights.numpy()[1, 0, 7:9].sum() > 0.9


def test_the_reward_is_the_likelihood_of_what_is_said():
    logits = np.random.default_rng(0).normal(size=[2, 4, WORDS.size]).astype("float32")
    log_p = tf.nn.log_softmax(logits).numpy()
    expected = [log_p[0, 0, 3] + log_p[0, 1, 4] + log_p[0, 2, 6], log_p[1, 0, 5]]
    np.testing.assert_allclose(answer_likelihood(tf.constant(logits), SHIFTED), expected, rtol=1e-5)


def test_hard_attention_learns_from_what_it_drew():
    """Only one cell contains the answer: its score gets a gradient although only the sampled cell is read."""
    made = network("hard", soft_probability=0.0, entropy_weight=0.0, gate=False)
    with tf.GradientTape() as tape:
        made(TENSORS, training=True)
        [loss] = made.losses
    asks = made.decoder.attention.score.trainable_weights
    assert any(float(tf.reduce_max(abs(one))) > 0 for one in tape.gradient(loss, asks))
    before = float(made.reinforce.baseline)
    made(TENSORS, training=True)
    assert float(made.reinforce.baseline) != before
    read = made.encoder(TENSORS)
    weights = made.decoder.run(SHIFTED, read.values, mask=read.mask, summary=read.summary, training=True)[1].numpy()
    assert set(np.unique(weights)) == {0, 1}
    always = network("hard", soft_probability=1.0)
    read = always.encoder(TENSORS)
    weights, last = always.decoder.run(SHIFTED, read.values, mask=read.mask, summary=read.summary, training=True)[1:]
    assert 0 < weights.numpy().max() < 1
    assert not last.attention.align.log_prob.numpy().any()  # nothing was sampled


def test_half_of_the_looks_are_means():
    made = network("hard", soft_probability=0.5)
    read = made.encoder({"image_pixels": tf.repeat(PIXELS, 60, axis=0)})
    shifted = tf.repeat(SHIFTED, 60, axis=0)
    weights = made.decoder.run(shifted, read.values, mask=read.mask, summary=read.summary, training=True)[1].numpy()
    assert 0.4 < np.mean(weights.max(-1) == 1) < 0.6


def test_bad_arguments_are_refused():
    for arguments, message in (
        ({"conditioning": "some"}, "conditioning: expected one of"),
        ({"doubly_stochastic_weight": -1}, "doubly_stochastic_weight: expected a number of at least 0"),
        ({"conditioning": "input", "doubly_stochastic_weight": 1.0}, "expected 0 without attention"),
        ({"conditioning": "state", "attention_supervision": 1.0}, "expected 0 without attention"),
        ({"conditioning": "hard", "soft_probability": 1.5}, "soft_probability: expected a number from 0 to 1"),
    ):
        with pytest.raises(ValueError, match=message):
            network(**arguments)
    with pytest.raises(ValueError, match="image"):
        Captioner(network(), {"picture": Image(16, 24)}, Symbols(WORDS, 5))
