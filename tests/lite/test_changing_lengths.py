"""LiteRT plans its memory again at every new length; an answer must not depend on the inputs before it.

python tests/lite/test_changing_lengths.py FOLDER SEED RUNS     # how many answers differ, in this process
"""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.presets import FOLDER, LITE

LETTERS = "abcdefghijklmnopqrstuvwxyz'"
PROCESSES, RUNS = 5, 2400


def answered(model, text):
    [answer] = model.answer([text])
    return answer.text, answer.score, [look.weights.tobytes() for look in answer.attention.values()]


def differing(folder, seed, runs, texts=100):
    """Return how many answers differ from those of an interpreter that has read nothing else.

    Interpreters are replaced after 2 to 60 texts of random letters and lengths, some of which are read again.
    """
    rng = random.Random(seed)
    pool = [
        "".join(rng.choices(LETTERS, k=rng.choice([1, 2, 5, 8, 8, 9, 12, rng.randint(1, 40)]))) for _ in range(texts)
    ]
    alone = {text: answered(LiteModel(folder), text) for text in pool}
    wrong = 0
    while runs > 0:
        model = LiteModel(folder)
        for text in rng.choices(pool, k=min(rng.choice([2, 5, 20, 60]), runs)):
            wrong += answered(model, text) != alone[text]
            runs -= 1
    return wrong


@pytest.mark.parametrize("name", ["pronounce", "transliterate"])  # greedy, and a beam search
def test_an_answer_does_not_depend_on_the_texts_before(name):
    assert differing(FOLDER / name / LITE, seed=0, runs=100, texts=15) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pronounce", "transliterate"])
def test_the_same_in_several_processes(name):
    for seed in range(PROCESSES):
        command = [sys.executable, __file__, FOLDER / name / LITE, str(seed), str(RUNS)]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0] == "0"


if __name__ == "__main__":
    _, folder, seed, runs = sys.argv
    print(differing(Path(folder), int(seed), int(runs)), "of", runs, "answers differ")
