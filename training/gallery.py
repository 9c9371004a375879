"""A gallery: every system with one real input, its answer and its picture, as a page of Markdown."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqattn_tf.core.atomic_io import write_atomically
from seqattn_tf.explain import save_figure
from seqattn_tf.lite.model_inputs import from_json
from seqattn_tf.models import Model
from seqattn_tf.models.base import read_config
from seqattn_tf.models.presets import find, open_model, presets
from seqattn_tf.training import recipes

FILES = {"image": "picture"}  # what a kind of input is called
_LONGEST = 400  # characters of a text or an answer that are shown
_RIGHT, _WRONG = "\u2713", "\u2717"  # marks of answers


def write_gallery(models: Sequence[str | os.PathLike[str]], path: Path) -> list[str]:
    """Write the page, its pictures into `images/` beside it, and return the recipes that have none in it.

    Args:
        models: folders of runs, and names of presets; the presets where there are none. Of two of one recipe, the
            first is shown.
        path: of the page, which appears whole.
    """
    shown: dict[str, list[str]] = {}
    for name in models or presets():
        record = read_config(find(name))["record"]
        recipe = record.get("recipe", "")
        if recipe in recipes.names() and recipe not in shown and record.get("examples"):
            shown[recipe] = _entry(recipe, open_model(name), record, path.parent / "images")
    if not shown:
        raise ValueError(f"models: expected a trained one with examples. Received: {list(map(str, models))}")
    head = "# Gallery\nOne input of each system from data it has not learned from, its answer, "
    head += "the reference, and what it looked at or makes of it.\n"
    head += f"{_RIGHT} marks an answer that is a reference, {_WRONG} one that is not: "
    head += "a caption, a translation or a summary may differ and be good.\n"
    with write_atomically(path) as aside:
        text = "\n".join([head, *("\n".join(shown[recipe]) for recipe in sorted(shown))])
        aside.write_text(text, encoding="utf-8")
    return [recipe for recipe in recipes.PACKAGED if recipe not in shown]


def _entry(recipe: str, model: Model, record: dict[str, Any], images: Path) -> list[str]:
    """The lines of one system."""
    row = from_json(record["examples"][0])
    [answer] = model.answer([row])
    asked = [_shown(name, value, model.inputs[name].kind) for name, value in row.items()]
    picture = images / f"gallery_{recipe}.png"
    save_figure(model.explain(row), picture)
    shown = f"![What `{recipe}` {'looked at' if answer.looks else 'makes of it'}]({images.name}/{picture.name})"
    references: list[list[str]] = record.get("references") or [[]]  # older records have none
    said = _judged(answer.text, references[0])
    return [f"## {recipe}", recipes.get(recipe).summary + ".", "", *asked, *said, "", shown, ""]


def _judged(answer: str, references: Sequence[str]) -> list[str]:
    """The lines of an answer and of what it should have been."""
    if not references:
        return [f"- answer: {_quoted(answer)}", "- reference: none"]
    more = f", or {len(references) - 1} more" if len(references) > 1 else ""
    reference = answer if answer in references else references[0]
    mark = _RIGHT if answer in references else _WRONG
    return [f"- answer: {_quoted(answer)} {mark}", f"- reference: {_quoted(reference)}{more}"]


def _shown(name: str, value: str | bytes, kind: str) -> str:
    """An input as a line: a text itself, of a file what it is."""
    try:
        text = value if isinstance(value, str) else value.decode()
    except UnicodeDecodeError:
        return f"- {name}: a {FILES.get(kind, kind)}"
    return f"- {name}: {_quoted(text)}"


def _quoted(text: str) -> str:
    """A text on one line, as it is: never markup."""
    line = " / ".join(text.split("\n"))
    line = line if len(line) <= _LONGEST else line[:_LONGEST] + " \u2026"
    line = line.replace("`", "'")
    return f"`{line}`" if line.strip() else "nothing"
