"""`check` reports each deliberately broken part for the right reason and accepts correct parts."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from support import reverse
from support.strangers import Date

from seqattn_tf.attention import Alignment, Attention
from seqattn_tf.cells import GRUCell
from seqattn_tf.checks import CheckError, check, checks_for, run_checks
from seqattn_tf.checks.base import Problem, expect_close
from seqattn_tf.decoders import AttentionDecoder
from seqattn_tf.encoders import BidirectionalEncoder, Encoder
from seqattn_tf.inputs.text import GraphText
from seqattn_tf.lite.fields import Text
from seqattn_tf.lite.targets import Label, Symbols
from seqattn_tf.lite.text import SymbolRules

LONG = ("exports", "xla", "saving", "mixed_precision")  # tested with the members of the families, or separately


def problems(part, **options):
    """Return the problems of a part by the name of the check."""
    return {result.name: result.problem for result in run_checks(part, **options) if result.problem}


def unlisted(kind):
    """Remove a part from its registry, so that other tests do not find it."""
    del kind.registry[kind.name_in_registry]
    return kind


@unlisted
class ForgetfulCell(GRUCell):
    """Does not save an argument, and computes different steps when it is called as a layer."""

    name_in_registry = "forgetful_for_a_test"

    def __init__(self, units, gain=1.0, **kwargs):
        super().__init__(units, **kwargs)
        self.gain = gain

    def call(self, inputs, states, training=False):
        output, after = super().call(inputs, states, training)
        return 2 * output, after


def test_a_broken_cell():
    found = problems(ForgetfulCell(4), only=("configuration", "step", "mask"))
    assert found.keys() == {"configuration", "step"}
    assert found["configuration"] == "get_config: expected every constructor argument. Received: no gain"
    assert found["step"].startswith("output of call, compared with its first state: expected")


@unlisted
class IdleCell(GRUCell):
    """Has an unused weight."""

    name_in_registry = "idle_for_a_test"

    def build(self, input_shape):
        super().build(input_shape)
        self.idle = self.add_weight(shape=(3,), name="idle")


def test_a_cell_with_a_weight_that_is_not_used():
    [[name, problem]] = problems(IdleCell(4), only=("gradients", "step")).items()
    assert name == "gradients"
    assert problem.startswith("gradient of ")
    assert problem.endswith("idle: expected nonzero values. Received: zeros, as if it were unused")


@unlisted
class SparingCell(IdleCell):
    """Uses only one of the three numbers of a weight."""

    name_in_registry = "sparing_for_a_test"

    def step(self, projected, states):
        return [self.idle[0] * state for state in super().step(projected, states)]


def test_a_weight_is_used_if_one_number_of_it_is():
    assert problems(SparingCell(4), only=("gradients",)) == {}


@unlisted
class LeakyAlignment(Alignment):
    """A softmax that ignores the mask."""

    name_in_registry = "leaky_for_a_test"
    meaning = "distribution"

    def call(self, logits, mask, state=(), training=False):
        return tf.nn.softmax(logits), state


def test_a_broken_alignment():
    found = problems(LeakyAlignment(), skip=LONG)
    assert {"mask", "empty_rows", "weights"} <= found.keys()
    assert not found.keys() & {"configuration", "large_scores"}
    assert found["weights"] == "weights at masked positions: expected zeros. Received: nonzero values"
    assert found["empty_rows"].startswith("weights of a fully masked row: expected zeros. Received:")


@unlisted
class LoudText(Text):
    """Distinguishes upper and lower case in Python, but not in the graph."""

    name_in_registry = "loud_for_a_test"


class GraphLoudText(GraphText):
    name_in_registry = "loud_for_a_test"

    def read(self, raw):
        return super().read(tf.strings.lower(raw))


def test_a_broken_field(monkeypatch):
    monkeypatch.setitem(Text.registry, LoudText.name_in_registry, LoudText)
    field = LoudText(SymbolRules(tuple("abAB")), 6)
    found = problems(field, values=["aB"], refused=["a" * 6])
    assert {"both_halves", "bad_values"} <= found.keys()
    assert not found.keys() & {"configuration", "limit"}
    assert found["both_halves"].startswith("ids of 'aB' in the graph: expected 6. Received: 4 at (1,)")
    assert found["bad_values"] == "'aaaaaa': expected an error. Received: none"


@unlisted
class SpillingText(Text):
    """In the graph, writes into the first position of the padding."""

    name_in_registry = "spilling_for_a_test"


class GraphSpillingText(GraphText):
    name_in_registry = "spilling_for_a_test"

    def read(self, raw):
        found = super().read(raw)
        ids = found.tensors["ids"]
        after = tf.one_hot(tf.math.count_nonzero(ids, 1), tf.shape(ids)[1], dtype=ids.dtype)
        return found._replace(tensors={**found.tensors, "ids": ids + after})


def test_a_field_that_writes_into_its_padding(monkeypatch):
    monkeypatch.setitem(Text.registry, SpillingText.name_in_registry, SpillingText)
    field = SpillingText(SymbolRules(tuple("ab")), 6)
    found = problems(field, values=["a", "aba"], only=["both_halves"])
    assert found == {"both_halves": "ids of 'a': expected zeros as padding. Received: nonzero values"}


def test_a_broken_recipe():
    leaked = dataclasses.replace(reverse.language(), test=reverse.language().train[:5])
    broken = dataclasses.replace(reverse.RECIPE, load=lambda *_: leaked)
    found = problems(broken, only=("data", "small_settings"))
    assert found.keys() == {"data"}
    assert found["data"].startswith("test split: expected inputs that are not in the training split. Received: [")


@unlisted
class ShiftedEncoder(BidirectionalEncoder):
    """Has another width than promised, and does not clear padding."""

    name_in_registry = "shifted_for_a_test"

    @property
    def summary_size(self):
        return super().summary_size + 1

    def call(self, tensors, training=False):
        read = super().call(tensors, training)
        return read._replace(mask=tf.ones_like(read.mask))


def test_a_broken_encoder():
    found = problems(ShiftedEncoder(8, units=4, embedding=4), only=("configuration", "contract", "mask", "empty_rows"))
    assert {"contract", "mask", "empty_rows"} == found.keys()
    assert found["contract"] == "summary: expected the shape (6, 9). Received: (6, 8)"
    assert found["mask"] == "mask of padding: expected False. Received: True"


@unlisted
class KeepingEncoder(BidirectionalEncoder):
    """Does not clear the padding of its last row."""

    name_in_registry = "keeping_for_a_test"

    def call(self, tensors, training=False):
        read = super().call(tensors, training)
        last = tf.range(tf.shape(read.mask)[0]) == tf.shape(read.mask)[0] - 1
        return read._replace(mask=read.mask | last[:, None])


def test_an_encoder_that_keeps_some_padding():
    found = problems(KeepingEncoder(8, units=4, embedding=4), only=("mask", "empty_rows"))
    assert found.keys() == {"mask", "empty_rows"}
    assert found["mask"] == "mask of padding: expected False. Received: True"


@unlisted
class SteppingDecoder(AttentionDecoder):
    """Returns different results step by step and all at once."""

    name_in_registry = "stepping_for_a_test"

    def step(self, *arguments, **named):
        logits, weights, state = super().step(*arguments, **named)
        return logits + 1, weights, state


def test_a_broken_decoder():
    part = SteppingDecoder(GRUCell(4), Attention(units=4), vocabulary=8, embedding=4)
    found = problems(part, only=("steps", "empty_rows"))
    assert found.keys() == {"steps"}
    assert found["steps"].startswith("logits of step 0: expected")


@tf.custom_gradient
def with_a_wrong_gradient(values):
    return values, lambda upstream: upstream + tf.one_hot(0, values.shape[-1], dtype=upstream.dtype)


@unlisted
class MeddlingDecoder(AttentionDecoder):
    """Has gradients with respect to masked values."""

    name_in_registry = "meddling_for_a_test"

    def begin(self, values, *arguments, **named):
        return super().begin(with_a_wrong_gradient(values), *arguments, **named)


def test_a_gradient_at_the_padding():
    part = MeddlingDecoder(GRUCell(4), Attention(units=4), vocabulary=8, embedding=4)
    found = problems(part, only=("mask", "gradients"))
    assert found == {"gradients": "gradient at the padding: expected zeros. Received: nonzero values"}


@unlisted
class MumblingLabel(Label):
    name_in_registry = "mumbling_for_a_test"

    def tokens(self, found, answer):
        return [super().tokens(found, answer)[0].upper()]


def test_a_broken_target(monkeypatch):
    monkeypatch.setitem(Label.registry, MumblingLabel.name_in_registry, MumblingLabel)
    found = problems(MumblingLabel(("no", "yes")), examples=["no", "yes"])
    assert found == {"both_halves": "text in the graph: expected 'NO'. Received: 'no'"}


@pytest.mark.parametrize(
    ("part", "options"),
    [
        (Date(), {"values": ["2024-02-29"], "refused": ["2024-13-01", "tomorrow"]}),
        (Symbols(SymbolRules(tuple("ab"))), {"examples": ["ab", "b"]}),
    ],
    ids=["a field", "a target"],
)
def test_what_is_right_passes(part, options):
    check(part, **options)


def test_all_problems_are_in_one_message():
    with pytest.raises(
        CheckError, match=r"(?s)^ForgetfulCell: 2 of 2 checks failed\n  configuration: .*\n  step: "
    ) as caught:
        check(ForgetfulCell(4), only=("configuration", "step"))
    assert [problem.name for problem in caught.value.problems] == ["configuration", "step"]


def test_what_a_part_raises_is_reported_as_its_problem():
    @unlisted
    class Absent(Alignment):
        name_in_registry = "absent_for_a_test"
        meaning = "distribution"

    found = problems(Absent(), only=("mask",))
    assert found["mask"].startswith("raised NotImplementedError")


def test_what_cannot_be_checked_is_refused():
    with pytest.raises(TypeError, match=r"part: expected an instance of Cell, Score.*Received: 'gru'"):
        checks_for("gru")
    with pytest.raises(ValueError, match=r"expected names among .*Received: 'gradient'; did you mean 'gradients'\?"):
        run_checks(GRUCell(4), only=("gradient",))
    with pytest.raises(ValueError, match=r"field: expected a field of type 'image' to read\. Received: none"):
        checks_for(Encoder.get("grid", backbone="cnn", height=16, width=16))
    assert np.all([name in checks_for(GRUCell(4)).names() for name in ("gradients", "exports")])


def test_what_is_no_number_is_reported():
    """NaN is unequal to everything, so a comparison by difference could miss it."""
    with pytest.raises(Problem, match=r"weights: expected finite numbers\. Received: NaN or infinity"):
        expect_close([1.0, float("nan")], [1.0, float("nan")], 1e-6, "weights")
