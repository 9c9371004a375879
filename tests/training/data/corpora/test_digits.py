"""Spoken digits: the speakers of each split, the joining of digits, and invalid folders."""

import io
import tarfile

import numpy as np
import pytest

from seqattn_tf.lite.fields.wav import read_header, read_samples, write_wav
from seqattn_tf.training.data.corpora import digits
from seqattn_tf.training.data.corpora.digits import DIAL, RATE, Joined, is_digits, load, tones

NAMES = [f"{digit}_{who}_{number}" for digit in (3, 8) for who in ("ann", "bob") for number in range(10)]


def tone(digit, size=800):
    return write_wav(0.5 * np.sin(np.arange(size) * (0.1 + 0.05 * digit)), RATE)


def write(folder, names=NAMES, data=None):
    for name in names:
        (folder / f"{name}.wav").write_bytes(data or tone(int(name[0]) if name[0].isdecimal() else 1))
    return folder


def wave(data):
    return read_samples(data, read_header(data))


def test_recordings_0_to_4_are_the_test_split_and_5_to_7_for_development(tmp_path):
    splits = load(write(tmp_path))
    numbers = {part: {int(e.key[-1]) for e in getattr(splits, part)} for part in ("train", "dev", "test")}
    assert numbers == {"test": {0, 1, 2, 3, 4}, "dev": {5, 6, 7}, "train": {8, 9}}
    assert {(e.key[0], e.target) for e in splits.test} == {("3", "3"), ("8", "8")}
    assert splits.test[0].inputs["sound"].read() == tone(3)


def test_a_speaker_may_be_left_out(tmp_path):
    splits = load(write(tmp_path), held_out_speaker="bob")
    assert {e.key.split("_")[1] for e in splits.test} == {"bob"}
    assert len(splits.test) == 20
    assert {e.key.split("_")[1] for e in (*splits.train, *splits.dev)} == {"ann"}
    assert {int(e.key[-1]) for e in splits.dev} == {5, 6, 7}
    with pytest.raises(ValueError, match=r"held_out_speaker: expected one of \['ann', 'bob'\]\. Received: 'cy'"):
        load(tmp_path, held_out_speaker="cy")


def test_tars_hold_what_a_folder_holds(tmp_path):
    for part, numbers in (("train", "56789"), ("test", "01234")):
        with tarfile.open(tmp_path / f"fsdd_{part}.tar.xz", "w:xz") as tar:
            for name in (name for name in NAMES if name[-1] in numbers):
                member = tarfile.TarInfo(f"{part}/{name}.wav")
                member.size = len(tone(int(name[0])))
                tar.addfile(member, io.BytesIO(tone(int(name[0]))))
    (tmp_path / "folder").mkdir()
    assert is_digits(tmp_path)
    assert load(tmp_path).fingerprint == load(write(tmp_path / "folder")).fingerprint
    (tmp_path / "fsdd_test.tar.xz").write_bytes((tmp_path / "fsdd_test.tar.xz").read_bytes()[:100])
    with pytest.raises(ValueError, match=r"fsdd_test\.tar\.xz: expected a complete \.tar\.xz archive of sounds"):
        load(tmp_path)


def test_strings_are_of_one_speaker_and_one_split_and_the_same_every_time(tmp_path, monkeypatch):
    monkeypatch.setattr(digits, "STRINGS", {"dev": 6, "test": 7, "beyond": 5})
    write(tmp_path)
    splits = load(tmp_path, (3, 5), num_examples=40, max_test_digits=8)
    assert [len(splits.train), len(splits.dev), len(splits.test)] == [40, 6, 12]
    assert {len(e.target.split()) for e in splits.train} == {3, 4, 5}
    beyond = [e for e in splits.test if splits.notes.get(e.key) == "beyond"]
    assert {len(e.target.split()) for e in beyond} == {8}
    assert len(beyond) == 5
    for example in (*splits.train, *splits.test):
        assert len({part.path.name.split("_")[1] for part in example.inputs["sound"].parts}) == 1
    used = {
        part: {one.path.name[-5] for e in getattr(splits, part) for one in e.inputs["sound"].parts}
        for part in ("train", "test")
    }
    assert used["train"] == {"8", "9"}
    assert used["test"] <= set("01234")
    again = load(tmp_path, (3, 5), num_examples=40, max_test_digits=8)
    assert again.train[0].inputs["sound"].read() == splits.train[0].inputs["sound"].read()
    assert load(tmp_path, (3, 5), num_examples=40, seed=1).train[0].target != splits.train[0].target or (
        load(tmp_path, (3, 5), num_examples=40, seed=1).fingerprint != splits.fingerprint
    )


def nearest(frame, low, high, names):
    """Return the index of the pitch in `names` that is nearest to the loudest one between `low` and `high`."""
    return int(np.argmin(np.abs(frame[low:high].argmax() + low - np.array(names))))


def test_what_is_said_is_in_what_is_heard():
    """With telephone tones as digits, the sequence of the loudest pitches must be that of the string."""
    by_digit = {take.digit: take for take in tones() if take.number == 9}
    said = [4, 0, 9, 1]
    sound = wave(Joined(tuple(by_digit[digit].data for digit in said), seed=3).read())
    steps = np.lib.stride_tricks.sliding_window_view(sound, 400)[::100] * np.hanning(400)
    pitches = np.abs(np.fft.rfft(steps, 8_000))
    heard = []
    for frame in pitches[pitches.max(axis=1) > 0.5 * pitches.max()]:
        row, column = nearest(frame, 600, 1_050, DIAL[0]), nearest(frame, 1_100, 1_600, DIAL[1])
        digit = 0 if row == 3 else 3 * row + column + 1
        if not heard or heard[-1] != digit:
            heard.append(digit)
    assert heard == said


def test_strings_have_pauses_overlaps_and_noise():
    one = tone(3, 4_000)
    joined = [wave(Joined((one, one, one), seed).read()) for seed in range(40)]
    lengths = np.array([len(sound) for sound in joined])
    assert lengths.min() < 3 * 4_000 + 0.4 * RATE < lengths.max()
    assert any(len(set(np.sign(sound[:200]))) > 1 for sound in joined)  # noise before the first digit
    quiet = [np.sqrt(np.mean(sound[:100] ** 2)) for sound in joined]
    assert max(quiet) > 5 * min(quiet)


def test_what_is_no_such_folder_is_said(tmp_path):
    assert not is_digits(tmp_path)
    with pytest.raises(ValueError, match="expected spoken digits"):
        load(tmp_path)
    write(tmp_path, ["3_ann_1", "three"])
    with pytest.raises(ValueError, match=r"three\.wav: expected a file name like 7_theo_12\.wav"):
        load(tmp_path)
    (tmp_path / "three.wav").unlink()
    with pytest.raises(ValueError, match=r"expected recordings for each split\. Received: none for train"):
        load(tmp_path)
    with pytest.raises(ValueError, match="expected a folder with spoken digits"):
        load(tmp_path / "nowhere")
