"""The shipped models, each from its data to the files that ship, by the commands of a plan.

made/tag/steps/student/   the runs of the steps, which resume like any other run
made/tag/tag/             the files that ship: config.json, weights.npz, assets/ and lite/
"""

import dataclasses
import json
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from seqattn_tf.core.atomic_io import write_json
from seqattn_tf.core.registry import suggest
from seqattn_tf.presets import LITE

_GLOVE = "glove/glove100_subset_int8.npz"
Step = tuple[str, str]  # the name of the run that a step writes, and its command


@dataclasses.dataclass(frozen=True)
class Plan:
    """The steps from the data to a model; `{data}` and `{steps}` stand for folders.

    Args:
        steps: The steps in order; the last one writes the model that ships, before its weights are stored in int8.
        needs: The files and folders of `{data}` that the steps read.
        takes: The time that the training took where it was measured.
        differs: In what the training of the shipped model differed.
    """

    steps: Sequence[Step]
    needs: Sequence[str] = ()
    takes: str = ""
    differs: str = ""


def _set(**settings: object) -> str:
    return " ".join(f"--set {name}={value}" for name, value in settings.items())


_WORDS = {"pretrained_embeddings": f"{{data}}/{_GLOVE}", "max_pretrained_words": 0}
_SMALL_WORDS = {**_WORDS, "filters": 32, "letter_embedding_dim": 24}
_TAG = {"epochs": 14, "units": 128, "dropout": 0.4}
_PARSE = {"epochs": 20, "units": 140, "arc_units": 128, "relation_units": 48, "min_count": 3}
_STUDENT = {"decoder": "stacked", "embedding": 96, "batch_size": 1024}
_TRANSLITERATE = {**_STUDENT, "score": "general", "units": 232, "dropout": 0.1, "epochs": 28}
_PRONOUNCE = {**_STUDENT, "score": "scaled_general", "units": 248, "depth": 2, "dropout": 0.05, "epochs": 34}
_PRONOUNCE |= {"embedding_stddev": 1, "residual": "no", "bridge": "first", "embedding_dropout": 0.025}
_QUESTIONS = {"frozen": "true", "batch_size": 128}
_ADAM = {"learning_rate": 2.5e-3, "beta_2": 0.98, "weight_decay": 0.01, "warmup_steps": 500, "clip_norm": 2}
_TEACHER = {"decoder": "stacked", "score": "general", "units": 384, "embedding": 128, "batch_size": 512, **_ADAM}
_TEACHER |= {"learning_rate": 2e-3}


def _teachers(recipe: str, data: str, forward: int, backward: int, **settings: object) -> list[Step]:
    """Return the steps that train an ensemble: models from left to right, and from right to left, which rescore."""
    chosen = _set(**_TEACHER, **settings)
    found = []
    for number in range(forward + backward):
        direction = " --set direction=right_to_left" if number >= forward else ""
        found.append(
            (f"teacher{number}", f"train {recipe} --data {{data}}/{data} {chosen} --set seed={number}{direction}")
        )
    runs = " ".join(f"{{steps}}/{name}" for name, _ in found)
    return [*found, ("teachers", f"ensemble {runs} --beam-width 5")]


PLANS: Mapping[str, Plan] = {
    "tag": Plan(
        [("student", "train tag --data {data}/ud_ewt " + _set(tag_column="upos", **_TAG, **_SMALL_WORDS))],
        ["ud_ewt", _GLOVE],
        "32 s on one H200",
    ),
    "parse": Plan(
        [("student", "train parse --data {data}/ud_ewt " + _set(**_PARSE, **_SMALL_WORDS))],
        ["ud_ewt", _GLOVE],
        "66 s on one H200",
    ),
    "transliterate": Plan(
        [
            *_teachers("transliterate", "katakana", 3, 1, dropout=0.4, epochs=40),
            (
                "student",
                "distill transliterate --data {data}/katakana --teacher {steps}/teachers --synthetic 250000 "
                "--min-log-prob -6 " + _set(**_TRANSLITERATE, **_ADAM),
            ),
        ],
        ["katakana"],
        "the student 171 s on one H200",
        "the number of epochs of its teachers was not recorded",
    ),
    "pronounce": Plan(
        [
            *_teachers("pronounce", "cmudict", 6, 3, dropout=0.25, epochs=50),
            (
                "student",
                "distill pronounce --data {data}/cmudict --teacher {steps}/teachers --synthetic 420000 "
                + _set(**_PRONOUNCE, **_ADAM),
            ),
        ],
        ["cmudict"],
        "the student 234 s on one H200",
        "350 further steps on single letters and short strings, by a program that was not kept",
    ),
    "caption_scene": Plan([("student", "train caption")], [], "34 s on one H200"),
    "answer_scene": Plan(
        [
            ("backbone", "train answer_image"),
            ("questions", "train answer_image --set pretrained={steps}/backbone " + _set(epochs=12, **_QUESTIONS)),
            ("student", "train answer_image --init-from {steps}/questions --set learning_rate=1e-3 --set epochs=5"),
        ],
        [],
        "26 minutes on two cores after the backbone, which was trained on a GPU",
        "its backbone was trained on questions of five of the six kinds",
    ),
    "image_to_latex": Plan([("student", "train image_to_latex")], [], "146 s on one H200"),
    "transcribe": Plan(
        [("student", "train transcribe --data {data}/fsdd --set digits=1-5")], ["fsdd"], "75 s on one H200"
    ),
}


def commands(name: str, data: Path, folder: Path) -> list[list[str]]:
    """Return the commands that make a shipped model, without those that write its files.

    >>> found = commands("caption_scene", Path("data"), Path("made/caption_scene"))
    >>> print(*found[0])
    train caption --run made/caption_scene/steps/student
    """
    if name not in PLANS:
        raise ValueError(f"preset: expected one of {sorted(PLANS)}. Received: {name!r}{suggest(name, list(PLANS))}")
    steps, found = folder / "steps", []
    for run, command in PLANS[name].steps:
        words = shlex.split(command.format(data=data, steps=steps))
        found.append([*words, "-o" if words[0] == "ensemble" else "--run", str(steps / run)])
    return found


def make_preset(name: str, data: str | Path = "data", folder: str | Path | None = None) -> Path:
    """Train a shipped model, store it in int8 with its LiteRT file, and return the folder with the files that ship.

    Steps that are complete are not repeated, and interrupted trainings resume.

    Args:
        name: The name of the preset.
        data: The folder that contains the data sets under their names, as `seqattn data NAME` writes them.
        folder: The folder to write; `made/NAME` by default.

    Raises:
        ValueError: If there is no such preset or if its data are missing.
        ChildProcessError: If a step failed.
    """
    folder, data = Path(folder or Path("made") / name), Path(data)
    planned = commands(name, data, folder)
    for needed in PLANS[name].needs:
        if not (data / needed).exists():
            raise ValueError(f"data: expected {data / needed}. Received: no such file; see `seqattn data`")
    for command in planned:
        run = Path(command[-1])
        if command[0] == "ensemble" and (run / "config.json").is_file():
            continue
        _run(command)
    final = folder / name
    if not (final / "config.json").is_file():
        _run(["quantize", planned[-1][-1], str(final)])
    if not (final / LITE / "manifest.json").is_file():
        from seqattn_tf.ship import ship

        _remove_paths(final)
        *_, last = planned
        ship(final, last[last.index("--data") + 1] if "--data" in last else None)
    return final


def _remove_paths(folder: Path) -> None:
    """Remove the paths of this machine from the record of a model."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    record = config["record"]
    record["given"] = None
    for name, value in record["settings"].items():
        if isinstance(value, str) and "/" in value and Path(value).exists():
            record["settings"][name] = Path(value).name
    write_json(path, config)


def _run(command: Sequence[str]) -> None:
    """Run a command of `seqattn` as a process, so that every step starts with free memory."""
    print("$ seqattn", shlex.join(command), flush=True)
    status = subprocess.run([sys.executable, "-m", "seqattn_tf.cli", *command], check=False).returncode
    if status:
        raise ChildProcessError(f"{command[0]} {command[1]} ended with status {status}; the same command resumes")
