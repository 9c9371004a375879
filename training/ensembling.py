"""Ensembles of runs: several networks in one model, in a folder like that of a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqattn_tf.lite.targets import Label
from seqattn_tf.models import Ensemble, LabelEnsemble, Model, load
from seqattn_tf.presets import find
from seqattn_tf.training.record import read_record

_ALIKE = ("recipe", "fingerprint")  # entries that the records of all members must share
_OF_ONE = ("metrics", "seconds", "init_from", "xla")  # entries that apply only to a single run


def as_one(models: Sequence[Model], **settings: Any) -> Ensemble | LabelEnsemble:
    """Return the ensemble of several models, of the kind that fits their target."""
    kind = LabelEnsemble if isinstance(models[0].target, Label) else Ensemble
    return kind.of(models, **settings)


def combine(runs: Sequence[str | Path], folder: str | Path, **settings: Any) -> Ensemble | LabelEnsemble:
    """Write the ensemble of several runs, which is loaded, evaluated, exported and served like a single run.

    Its record is that of the first run, without its metrics, and lists the members.

    Args:
        runs: Folders of runs, or presets, all with the same recipe and data.
        folder: The folder of the ensemble.
        **settings: Settings of the `Ensemble`; none for models that predict labels.

    Raises:
        ValueError: If the runs differ in recipe, data or interface, or if the folder already contains a model.
    """
    folders = [find(run) for run in runs]
    if (Path(folder) / "config.json").exists():
        raise ValueError(f"output: expected a folder without a model. Received: {folder}")
    records = [read_record(run) for run in folders]
    first = records[0]
    for name in _ALIKE:
        for run, record in zip(folders, records, strict=True):
            if record[name] != first[name]:
                expected = f"runs: expected the {name} of {folders[0]}, {first[name]!r}, in all runs"
                raise ValueError(f"{expected}. Received: {record[name]!r} in {run}")
    ensemble = as_one([load(run) for run in folders], **settings)
    own = {**ensemble.settings, "direction": getattr(ensemble.target, "direction", "")}
    record = {name: value for name, value in first.items() if name not in _OF_ONE}
    record |= {
        "settings": {name: own.get(name, value) for name, value in first["settings"].items()},
        "plugins": {name: file for one in records for name, file in one["plugins"].items()},
        "members": [run.resolve().name for run in folders],
    }
    ensemble.save(folder, record)
    return ensemble
