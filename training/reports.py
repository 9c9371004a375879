"""The results of evaluations as tables, CSV or JSON."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from seqattn_tf.training.evaluation import Evaluation

_Table = list[list[str]]


def table(found: Mapping[str, Evaluation]) -> _Table:
    """Return a title row and the results: of one model a row per metric, of several ones a row per model."""
    if len(found) == 1:
        [one] = found.values()
        rows = [["metric", "value", "95 % interval", "inputs"]]
        for name, value in one.metrics.items():
            rows.append([name, f"{value:.4f}", _shown(one, name), str(one.keys)])
        return rows
    names = list(dict.fromkeys(name for one in found.values() for name in one.metrics))
    rows = [["model", "inputs", *names]]
    for model, one in found.items():
        cells = (
            f"{one.metrics[name]:.4f} {_shown(one, name)}".rstrip() if name in one.metrics else "" for name in names
        )
        rows.append([model, str(one.keys), *cells])
    return rows


def notes(found: Mapping[str, Evaluation]) -> Iterator[str]:
    """Yield what should be known about the test set of each model: its origin, and the overlap with training data."""
    for model, one in found.items():
        start = f"{model}: " if len(found) > 1 else ""
        left = f"; {one.skipped} that the model cannot read were skipped" if one.skipped else ""
        yield f"{start}{one.keys} different inputs, {one.origin}{left}"
        if one.seen and not any(one.seen):
            yield f"{start}none of them occurs in the training data"
        elif one.seen:
            seen = sum(one.seen)
            rest = ", ".join(f"{name} {value:.4f}" for name, value in one.unseen.items())
            yield (
                f"{start}{seen} of them ({100 * seen / one.keys:.1f} %) also occur in the training data"
                + (f"; without these: {rest}" if rest else "")
            )


def comparisons(found: Mapping[str, Evaluation]) -> _Table:
    """Return a title row and the differences of all models from the first one, or an empty table if there are none.

    Raises:
        ValueError: If the test sets differ.
    """
    (first, base), *others = found.items()
    rows = [["model", "compared with", "metric", "difference", "95 % interval", "p"]]
    for model, one in others:
        for name, difference in one.compare(base).items():
            shown = f"[{difference.low:+.4f}, {difference.high:+.4f}]"
            rows.append([model, first, name, f"{difference.value:+.4f}", shown, f"{difference.p:.3f}"])
    return rows if len(rows) > 1 else []


def as_csv(found: Mapping[str, Evaluation]) -> str:
    """Return a row for each model and metric."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["model", "metric", "value", "low", "high", "inputs", "seen_in_training", "skipped"])
    for model, one in found.items():
        about = [one.keys, sum(one.seen) if one.seen else "", one.skipped]
        for name, value in one.metrics.items():
            writer.writerow([model, name, value, *one.intervals.get(name, ("", "")), *about])
    return text.getvalue().rstrip("\n")


def as_json(found: Mapping[str, Evaluation], compared: bool = False) -> str:
    """Return everything, with the differences from the first model if `compared`."""
    models = {model: described(one) for model, one in found.items()}
    answer: dict[str, Any] = {"models": models}
    if compared:
        (first, base), *others = found.items()
        answer["compared_with"] = first
        answer["differences"] = {
            model: {name: difference._asdict() for name, difference in one.compare(base).items()}
            for model, one in others
        }
    return json.dumps(answer, indent=1)


def described(one: Evaluation) -> dict[str, Any]:
    """Return the results as a JSON value."""
    metrics = {
        name: {"value": value, **(one.intervals[name]._asdict() if name in one.intervals else {})}
        for name, value in one.metrics.items()
    }
    seen = {"seen_in_training": sum(one.seen), "metrics_without_these": one.unseen} if one.seen else {}
    return {"test": one.origin, "inputs": one.keys, "skipped": one.skipped, **seen, "metrics": metrics}


def _shown(one: Evaluation, name: str) -> str:
    found = one.intervals.get(name)
    return f"[{found.low:.4f}, {found.high:.4f}]" if found else ""
