"""The start positions of the windows of a long text."""

import pytest

from seqattn_tf.training.data import Example, Splits
from seqattn_tf.training.tasks.language import LanguageSettings, LanguageTask


@pytest.mark.parametrize("spare", [0, 1, 2])
def test_every_place_that_leaves_no_symbol_out_of_reach_may_be_the_first(spare):
    text = "".join(chr(200 + i) for i in range(30 + spare))
    one = [Example("", {}, "x")]
    settings = LanguageSettings(sequence_length=10, batch_size=1, units=4, embedding=4, depth=1)
    training = LanguageTask(window=8).open(settings, Splits([Example("", {}, text)], one, one, "made").at_most(0))
    rules, first = training.model.source.rules, set()
    for epoch in range(8):
        data = training.batches(epoch).take(training.steps)
        starts = sorted(text.index("".join(rules.names(row))) for _, rows in data for row in rows.numpy())
        assert [start - starts[0] for start in starts] == [0, 10, 20]
        first.add(starts[0])
    assert first == set(range(spare + 1))
