"""Runs that answer as one: their networks in one model, in a folder like that of a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqattn_tf.lite.targets import Label
from seqattn_tf.models import Ensemble, LabelEnsemble, Model, load
from seqattn_tf.models.presets import find
from seqattn_tf.training.record import read_record

_ALIKE = ("recipe", "fingerprint")  # of the records of runs that can be one
_OF_ONE = ("figures", "seconds", "init_from", "xla")  # what is only true of a run by itself


def as_one(models: Sequence[Model], **settings: Any) -> Ensemble | LabelEnsemble:
    """The ensemble of several models, by what they say."""
    kind = LabelEnsemble if isinstance(models[0].target, Label) else Ensemble
    return kind.of(models, **settings)


def combine(runs: Sequence[str | Path], folder: str | Path, **settings: Any) -> Ensemble | LabelEnsemble:
    """Write the ensemble of several runs, which is opened, measured, exported and served as one of them.

    Its record is that of the first run, without what was measured, and names its members.

    Args:
        runs: folders of runs, or presets, all of one recipe and of the same data.
        folder: where the ensemble goes.
        **settings: of the `Ensemble`; none where labels are said.

    Raises:
        ValueError: the runs have not enough in common, or the folder holds a model already.
    """
    folders = [find(run) for run in runs]
    if (Path(folder) / "config.json").exists():
        raise ValueError(f"output: expected a folder that holds no model yet. Received: {folder}")
    records = [read_record(run) for run in folders]
    first = records[0]
    for name in _ALIKE:
        for run, record in zip(folders, records, strict=True):
            if record[name] != first[name]:
                expected = f"runs: expected the {name} of {folders[0]}, {first[name]!r}, in all"
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
