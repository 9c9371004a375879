"""A gallery: a Markdown page with a real input, the answer and the explanation of every kind of model."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqattn_tf.core.atomic_io import write_atomically
from seqattn_tf.explain import save_figure
from seqattn_tf.lite.model_inputs import from_json
from seqattn_tf.models import Model
from seqattn_tf.models.base import read_config
from seqattn_tf.presets import find, open_model, presets
from seqattn_tf.training import recipes

FILES = {"image": "picture"}  # the displayed names of kinds of inputs
_LONGEST = 400  # maximum characters of a text or an answer
_RIGHT, _WRONG = "\u2713", "\u2717"  # marks of correct and incorrect answers


def write_gallery(models: Sequence[str | os.PathLike[str]], path: Path) -> list[str]:
    """Write the page, with its pictures in `images/` beside it, and return the recipes without an entry.

    Args:
        models: Folders of runs and names of presets; all presets if empty. Only the first model of each recipe is
            shown.
        path: The path of the page, which is written atomically.
    """
    shown: dict[str, list[str]] = {}
    for name in models or presets():
        record = read_config(find(name))["record"]
        recipe = record.get("recipe", "")
        if recipe in recipes.names() and recipe not in shown and record.get("examples"):
            shown[recipe] = _entry(recipe, open_model(name, "keras"), record, path.parent / "images")
    if not shown:
        raise ValueError(f"models: expected a trained model with examples. Received: {list(map(str, models))}")
    head = "# Gallery\nOne input of each system that is not in its training data, with the answer, "
    head += "the reference, and a picture of the attention or of the answer.\n"
    head += f"{_RIGHT} marks an answer that matches a reference, {_WRONG} one that does not: "
    head += "a caption, a translation or a summary may differ from the reference and still be good.\n"
    with write_atomically(path) as aside:
        text = "\n".join([head, *("\n".join(shown[recipe]) for recipe in sorted(shown))])
        aside.write_text(text, encoding="utf-8")
    return [recipe for recipe in recipes.PACKAGED if recipe not in shown]


def _entry(recipe: str, model: Model, record: dict[str, Any], images: Path) -> list[str]:
    """Return the lines of one model."""
    row = from_json(record["examples"][0])
    [answer] = model.answer([row])
    asked = [_shown(name, value, model.inputs[name].widget) for name, value in row.items()]
    picture = images / f"gallery_{recipe}.png"
    save_figure(model.explain(row), picture)
    shown = f"![What `{recipe}` {'attends to' if answer.attention else 'predicts'}]({images.name}/{picture.name})"
    references: list[list[str]] = record.get("references") or [[]]  # older records have no references
    said = _judged(answer.text, references[0])
    return [f"## {recipe}", recipes.get(recipe).summary + ".", "", *asked, *said, "", shown, ""]


def _judged(answer: str, references: Sequence[str]) -> list[str]:
    """Return the lines of an answer and its reference."""
    if not references:
        return [f"- answer: {_quoted(answer)}", "- reference: none"]
    more = f", and {len(references) - 1} more" if len(references) > 1 else ""
    reference = answer if answer in references else references[0]
    mark = _RIGHT if answer in references else _WRONG
    return [f"- answer: {_quoted(answer)} {mark}", f"- reference: {_quoted(reference)}{more}"]


def _shown(name: str, value: str | bytes, kind: str) -> str:
    """Return an input as a line: the text itself, or the kind of a file."""
    try:
        text = value if isinstance(value, str) else value.decode()
    except UnicodeDecodeError:
        return f"- {name}: a {FILES.get(kind, kind)}"
    return f"- {name}: {_quoted(text)}"


def _quoted(text: str) -> str:
    """Return a text on one line as inline code, so that it is not interpreted as Markdown."""
    line = " / ".join(text.split("\n"))
    line = line if len(line) <= _LONGEST else line[:_LONGEST] + " \u2026"
    line = line.replace("`", "'")
    return f"`{line}`" if line.strip() else "nothing"
