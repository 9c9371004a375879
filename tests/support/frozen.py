"""Answers of the shipped models as a REST client receives them, recorded in `tests/frozen`.

Record them anew, from `tests/`, after a change that is meant to change answers: `python -m support.frozen [NAME ...]`.
"""

import json
import math
import sys
from pathlib import Path

import tensorflow as tf

from seqattn_tf.lite.model_inputs import columns, from_json
from seqattn_tf.models.base import read_config
from seqattn_tf.models.presets import find, open_model, presets
from seqattn_tf.serving.api.json_codec import encode_outputs

FOLDER = Path(__file__).resolve().parents[1] / "frozen"
SENTENCES = ["", "Stop!", "I saw her duck.", "Colorless green ideas sleep furiously.", "Zxq 12.5% naïve, isn't it?"]
QUESTIONS = {  # rows that are asked in one batch; a number is an example that the model carries
    "answer_scene": [0, 1, 4],
    "caption_scene": [0, 2],
    "listen": [0, 3],
    "markup": [2],
    "parse": SENTENCES,
    "pronounce": ["hello", "", "naïve", "a", "rough", "co-op", "xylophonist"],
    "tag": SENTENCES,
    "transliterate": ["Fernandez", "", "o'neil", "a", "schwarzenegger"],
}
TOLERANCE = 1e-4  # absolute, and a tenth of it relative: float32 on another machine


def ask(name):
    """The `predictions` of a shipped model for its questions, as parsed from the JSON of the wire."""
    model = open_model(name)
    examples = read_config(find(name))["record"]["examples"]
    questions = [from_json(examples[row]) if isinstance(row, int) else {"text": row} for row in QUESTIONS[name]]
    raw = {key: tf.constant(values) for key, values in columns(questions, list(model.inputs)).items()}
    outputs = {key: value.numpy() for key, value in model.serve(**raw).items()}
    return json.loads(encode_outputs(outputs, row=True))["predictions"]


def recorded(name):
    """The predictions that were recorded."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def differences(expected, found, place="predictions"):
    """Where two parsed JSON documents differ by more than rounding, in words."""
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
    """Numbers with five decimals."""
    if isinstance(value, list):
        return [rounded(one) for one in value]
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return round(value, 5) if isinstance(value, float) and math.isfinite(value) else value


if __name__ == "__main__":
    for preset in sys.argv[1:] or presets():
        rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rounded(ask(preset)))
        (FOLDER / f"{preset}.json").write_text(f"[\n{rows}\n]\n", encoding="utf-8")
