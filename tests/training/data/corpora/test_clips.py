"""Clips of moving shapes: the captions describe the events in order, and each split has its own combinations."""

import io
import random

import numpy as np
import pytest
from PIL import Image as Pillow

from seqattn_tf.lite.fields import Clip
from seqattn_tf.training.data.corpora import clips
from seqattn_tf.training.data.corpora.clips import ACTIONS, FRAMES, SIDE, draw, load, part_of
from seqattn_tf.training.data.corpora.scenes import COLOURS


def doing(clip):
    named = [clip.shapes[event.shape].name for event in clip.events]
    return tuple(zip(named, (event.action for event in clip.events), strict=True))


def test_what_is_done_together_is_in_one_split_and_every_action_is_in_all():
    splits = load(200, 60)
    seen = {}
    for part in ("train", "dev", "test"):
        found = {doing(example.inputs["clip"]) for example in getattr(splits, part)}
        assert {part_of(*each) for each in found} == {part}
        seen[part] = {action for each in found for _, action in each}
    assert seen["train"] == seen["test"] == set(ACTIONS)


@pytest.mark.parametrize("number", range(12))
def test_one_acts_while_the_others_do_not(number):
    clip = draw(number)
    first, second = clip.events
    assert first.begin < first.end <= second.begin < second.end <= FRAMES
    before, middle, after = clip.at(0), clip.at(first.end), clip.at(FRAMES)
    assert before[1:] == middle[1:]  # only the first shape has moved by then
    assert middle[0] == after[0]
    assert middle[2:] == after[2:]
    if first.action != "blinks":
        assert before[0] != middle[0]
    if second.action == "blinks":
        assert None in [clip.at(frame)[1] for frame in range(second.begin, second.end)]
    else:
        assert middle[1] != after[1]


@pytest.mark.parametrize(
    ("action", "change"),
    [
        ("moves left", lambda a, b: b.x < a.x - 11 and b.y == a.y),
        ("moves right", lambda a, b: b.x > a.x + 11 and b.y == a.y),
        ("moves up", lambda a, b: b.y < a.y - 11 and b.x == a.x),
        ("moves down", lambda a, b: b.y > a.y + 11 and b.x == a.x),
        ("grows", lambda a, b: b.size > 1.7 * a.size),
        ("shrinks", lambda a, b: b.size < 0.5 * a.size),
        ("blinks", lambda a, b: a == b),
    ],
)
def test_actions_are_what_they_are_called(action, change):
    clips_of = (clip for clip in map(draw, range(400)) if clip.events[0].action == action)
    for clip, _ in zip(clips_of, range(5), strict=False):
        assert change(clip.shapes[0], clip.at(FRAMES)[0])


def test_what_is_drawn_is_what_is_said():
    clip = next(clip for clip in map(draw, range(400)) if clip.events[0].action == "grows")
    shape = clip.shapes[0]
    near = np.abs(clip.frames().astype(int) - COLOURS[shape.colour]).max(axis=-1) < 45
    count = near.sum(axis=(1, 2))
    assert count[clip.events[0].end] > count[0] + 20
    assert clip.caption.startswith(f"the {shape.colour} {shape.kind} grows , then the ")
    assert clip.label.startswith("grows then ")


def test_a_strip_and_a_gif_show_the_same_frames():
    clip, field = draw(5), Clip(SIDE, SIDE)
    np.testing.assert_array_equal(field.frames(clip.read()), clip.frames())
    with Pillow.open(io.BytesIO(clip.gif())) as picture:
        assert picture.n_frames == FRAMES
    assert np.abs(field.frames(clip.gif()).astype(int) - clip.frames()).mean() < 12  # because a GIF has only 256 colors
    assert draw(5).read() == clip.read() != draw(6).read()


def test_names_of_those_that_do_nothing_share_something():
    names = [("red", "ring"), ("blue", "cross")]
    for seed in range(50):
        colour, kind = clips._near(names, random.Random(seed))
        assert (colour, kind) not in names
        assert colour in ("red", "blue") or kind in ("ring", "cross")
