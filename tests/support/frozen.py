"""The answers of the shipped models to a REST client, recorded in `tests/frozen`.

To record them again after an intended change of answers, run in `tests/`: `python -m support.frozen [NAME ...]`.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.model_inputs import columns, from_json
from seqattn_tf.presets import find, open_model, presets
from seqattn_tf.serving.api.json_codec import encode_outputs

FOLDER = Path(__file__).resolve().parents[1] / "frozen"
SENTENCES = ["", "Stop!", "I saw her duck.", "Colorless green ideas sleep furiously.", "Zxq 12.5% naïve, isn't it?"]
QUESTIONS = {  # rows of one batch; a number refers to one of the model's examples
    "answer_scene": [0, 1, 4],
    "caption_scene": [0, 2],
    "transcribe": [0, 3],
    "image_to_latex": [2],
    "parse": SENTENCES,
    "pronounce": ["hello", "", "naïve", "a", "rough", "co-op", "xylophonist"],
    "tag": SENTENCES,
    "transliterate": ["Fernandez", "", "o'neil", "a", "schwarzenegger"],
}
TOLERANCE = 1e-4  # absolute; a tenth of it relative: for float32 on other machines


def questions(name):
    """Return the rows that a shipped model is asked."""
    examples = json.loads((find(name) / "config.json").read_text(encoding="utf-8"))["record"]["examples"]
    return [from_json(examples[row]) if isinstance(row, int) else {"text": row} for row in QUESTIONS[name]]


def ask(name):
    """Return the `predictions` of a shipped model for its questions, as parsed from JSON."""
    model = open_model(name, "keras")
    raw = {key: tf.constant(values) for key, values in columns(questions(name), list(model.inputs)).items()}
    outputs = {key: value.numpy() for key, value in model.serve(**raw).items()}
    return json.loads(encode_outputs(outputs, row=True))["predictions"]


def recorded(name):
    """Return the recorded predictions."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def recorded_answers(name):
    """Return the recorded answers to the questions."""
    rows = recorded(name)
    outputs = {key: [np.asarray(row[key]) for row in rows] for key in rows[0]}
    return [Answer.from_outputs(outputs, place) for place in range(len(rows))]


def differences(expected, found, place="predictions"):
    """Describe the differences of two parsed JSON documents that exceed rounding."""
    if isinstance(expected, dict) and isinstance(found, dict):
        if expected.keys() != found.keys():
            yield f"{place}: expected the names {sorted(expected)}. Received: {sorted(found)}"
            return
        for key in expected:
            yield from differences(expected[key], found[key], f"{place}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, pair in enumerate(zip(expected, found, strict=True)):
            yield from differences(*pair, f"{place}[{index}]")
    elif isinstance(expected, float) and isinstance(found, float):
        if not math.isclose(expected, found, rel_tol=TOLERANCE / 10, abs_tol=TOLERANCE):
            yield f"{place}: expected {expected}. Received: {found}"
    elif expected != found:
        yield f"{place}: expected {expected!r:.80}. Received: {found!r:.80}"


def rounded(value):
    """Round numbers to five decimals."""
    if isinstance(value, list):
        return [rounded(one) for one in value]
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return round(value, 5) if isinstance(value, float) and math.isfinite(value) else value


if __name__ == "__main__":
    for preset in sys.argv[1:] or presets():
        rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rounded(ask(preset)))
        (FOLDER / f"{preset}.json").write_text(f"[\n{rows}\n]\n", encoding="utf-8")
