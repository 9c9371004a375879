"""Convert runs and models saved before version 0.1.0 to its new names: `python -m seqattn_tf.convert FOLDER ...`.

The weights in a folder are not changed; `config.json`, `assets/` and checkpoints get the new names. Files that already
have them stay unchanged. Exported models have to be exported again instead: `seqattn export RUN DIR`.
"""

import argparse
import io
import json
import re
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from seqattn_tf.core.atomic_io import write_atomically
from seqattn_tf.lite.formats import FORMAT
from seqattn_tf.training.checkpoints import digest

Names = Mapping[str, str]

# Classes that were renamed.
_CLASSES: Names = {"RetellNetwork": "MemoryCellNetwork", "TaughtCrossEntropy": "SoftCrossEntropy"}
_LINES: Names = {"lines": "max_lines", "line_length": "max_line_length"}
_HEADS: Names = {"heads": "head_attention", "width": "projection_units"}
# The arguments of networks and their parts, by class.
_ARGUMENTS: Mapping[str, Names] = {
    "CaptionNetwork": {
        "penalty": "doubly_stochastic_weight",
        "supervise": "attention_supervision",
        "entropy": "entropy_weight",
        "reward": "reinforce_weight",
    },
    "DocumentEncoder": _LINES,
    "EfficientNetLite0": {"step": "output_stride"},
    "FactsEncoder": _LINES,
    "GridEncoder": {"places": "position_embeddings"},
    "GuidedEncoderDecoder": {"supervise": "attention_supervision"},
    "HardAlignment": {"expected": "soft_probability"},
    "HeadsEncoder": _HEADS,
    "ImageAnswerNetwork": {"looks": "use_attention"},
    "LanguageNetwork": {"samples": "num_sampled"},
    "LineEncoder": _LINES,
    "MemoryNetwork": {
        "form": "attention_form",
        "linear_steps": "linear_start_steps",
        "last": "answer_from_last",
        "noise": "time_noise",
    },
    "ParentsEncoder": _HEADS,
    "PointerNetwork": {"once": "point_once"},
    "PyramidEncoder": {"bands": "n_mels"},
    "RetellNetwork": {"slots": "memory_slots", "width": "memory_width"},
    "RowEncoder": {"places": "position_embeddings", "read_units": "row_units"},
    "WordEncoder": {"letter_embedding": "letter_embedding_dim"},
}
# The arguments of fields, by name.
_FIELDS: Mapping[str, Names] = {
    "lines": {"sentences": "split_sentences"},
    "parsed_words": {"word_length": "max_word_length"},
    "sound": {
        "rate": "sample_rate",
        "bands": "n_mels",
        "hop": "hop_ms",
        "per_place": "frames_per_position",
        "seconds": "max_seconds",
    },
    "words": {"word_length": "max_word_length"},
}
_RECORD: Names = {"figures": "metrics", "lessons": "soft_targets", "made_with": "created_with"}
_RECIPES: Names = {"listen": "transcribe", "markup": "image_to_latex"}
_SYSTEMS: Names = {"teller": "rearranger"}
# The settings of all recipes; below, those of single recipes, for names that had several meanings.
_SETTINGS: Names = {
    "accumulate": "gradient_accumulation_steps",
    "average": "ema_decay",
    "bands": "n_mels",
    "beyond": "max_test_digits",
    "caption": "caption_column",
    "clip": "clip_column",
    "context": "conditioning",
    "deepest": "max_depth",
    "entropy": "entropy_weight",
    "examples": "num_examples",
    "expected": "soft_probability",
    "fixed_vectors": "freeze_embeddings",
    "form": "attention_form",
    "frames": "max_frames",
    "head": "head_column",
    "heads": "head_attention",
    "hop": "hop_ms",
    "hypothesis": "hypothesis_column",
    "image": "image_column",
    "last": "answer_from_last",
    "left_out": "held_out_speaker",
    "letter_embedding": "letter_embedding_dim",
    "line_length": "max_line_length",
    "linear_steps": "linear_start_steps",
    "lines": "max_lines",
    "longest": "max_length",
    "looks": "use_attention",
    "maps": "feature_cache",
    "max_source": "max_source_length",
    "max_target": "max_target_length",
    "more": "extra_data",
    "noise": "time_noise",
    "once": "point_once",
    "penalty": "doubly_stochastic_weight",
    "places": "position_embeddings",
    "premise": "premise_column",
    "programs": "num_programs",
    "question": "question_column",
    "rate": "sample_rate",
    "read_units": "row_units",
    "relation": "relation_column",
    "reward": "reinforce_weight",
    "samples": "num_sampled",
    "seconds": "max_seconds",
    "sentences": "split_sentences",
    "sentiments": "num_classes",
    "side": "image_size",
    "slots": "memory_slots",
    "sound": "sound_column",
    "source_split": "source_tokenizer",
    "split": "tokenizer",
    "step": "output_stride",
    "story": "story_column",
    "supervise": "attention_supervision",
    "tag": "tag_column",
    "tall": "image_height",
    "target": "target_column",
    "target_split": "target_tokenizer",
    "text": "text_column",
    "together": "frames_per_window",
    "vector_words": "max_pretrained_words",
    "vectors": "pretrained_embeddings",
    "wide": "image_width",
    "width": "map_units",
    "word": "word_column",
    "word_length": "max_word_length",
}
_OF_RECIPES: Mapping[str, Names] = {
    "classify_video": {"label": "label_column"},
    "entail": {"width": "projection_units"},
    "toy": {"width": "memory_width"},
}
_METRICS: Names = {"per": "symbol_error_rate", "wer": "answer_error_rate", "begun": "prefix_accuracy"}
_METRIC = re.compile(r"(dev_|test_|)(\w+?)(_beyond|)")
_FOLDS: Mapping[Any, tuple[bool, bool]] = {  # lowercase, strip_accents
    "": (False, False),
    False: (False, False),
    "case": (True, False),
    "all": (True, True),
    True: (True, True),
}


def _renamed(values: Mapping[str, Any], names: Names) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in values.items()}


def _unfolded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with `lowercase` and `strip_accents` in place of `fold`."""
    if "fold" not in values:
        return dict(values)
    lowercase, strip_accents = _FOLDS[values["fold"]]
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= {"lowercase": lowercase, "strip_accents": strip_accents} if name == "fold" else {name: value}
    return found


def convert_settings(recipe: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a recipe under their new names."""
    return _unfolded(_renamed(settings, {**_SETTINGS, **_OF_RECIPES.get(recipe, {})}))


def _convert_rules(config: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the configuration of a field or a target, including its vocabularies."""
    return {
        name: _unfolded(_renamed(value, {"split": "tokenizer"}))
        if isinstance(value, dict) and "symbols" in value
        else value
        for name, value in config.items()
    }


def convert_network(config: Any) -> Any:
    """Convert the argument names in the Keras configuration of a network."""
    if isinstance(config, list):
        return [convert_network(item) for item in config]
    if not isinstance(config, dict):
        return config
    found = {name: convert_network(value) for name, value in config.items()}
    package, _, registered = str(found.get("registered_name")).partition(">")
    if package.partition(".")[0] == "seqattn_tf" and isinstance(found.get("config"), dict):
        name = _CLASSES.get(registered, registered)
        arguments = _renamed(found["config"], {"reads": "input_name", **_ARGUMENTS.get(registered, {})})
        found |= {"class_name": name, "registered_name": f"{package}>{name}", "config": arguments}
    return found


def convert_field(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an entry of `assets/inputs.json`."""
    return {**saved, "config": _renamed(_convert_rules(saved["config"]), _FIELDS.get(saved["field"], {}))}


def convert_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the record of a training run, or the metadata of a checkpoint."""
    recipe = record.get("recipe", "")
    found = _renamed(record, _RECORD)
    if isinstance(record.get("settings"), dict):
        found["settings"] = convert_settings(recipe, record["settings"])
    if isinstance(found.get("metrics"), dict):
        found["metrics"] = _convert_metrics(found["metrics"])
    if isinstance(record.get("progress"), dict):
        history = record["progress"].get("history", [])
        found["progress"] = {**record["progress"], "history": [*map(_convert_metrics, history)]}
    if recipe in _RECIPES:
        found["recipe"] = _RECIPES[recipe]
    return found


def _convert_metrics(figures: Mapping[str, float]) -> dict[str, float]:
    """Convert the names of metrics: `dev_wer` becomes `dev_answer_error_rate`."""
    matches = {name: _METRIC.fullmatch(name) for name in figures}
    names = {
        name: f"{found[1]}{_METRICS[found[2]]}{found[3]}"
        for name, found in matches.items()
        if found and found[2] in _METRICS
    }
    return _renamed(figures, names)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name}: expected JSON. Received: {error}") from None


def _convert_json(path: Path, convert: Callable[[Any], Any]) -> bytes | None:
    before = _read_json(path)
    try:
        after = convert(before)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{path.name}: expected the file of a saved model. Received: {type(error).__name__} {error}"
        ) from None
    return None if after == before else (json.dumps(after, ensure_ascii=False, indent=1) + "\n").encode()


def _convert_config(config: Any) -> dict[str, Any]:
    if not isinstance(config, dict):
        raise ValueError(f"config.json: expected a JSON object with the key 'system'. Received: {config!r:.80}")
    system = config.get("system", "")
    if system == "reader":
        raise ValueError(
            "config.json: expected a supported system. Received: 'reader', which was replaced by 'classifier'; "
            "train the model again"
        )
    record = convert_record(config.get("record", {}))
    found = {"format": FORMAT, **config, "system": _SYSTEMS.get(system, system), "record": record}
    return {**found, "network": convert_network(config["network"])} if "network" in config else found


def _convert_keras(path: Path) -> bytes | None:
    """Return the `.keras` file with a converted configuration and unchanged weights."""
    try:
        with zipfile.ZipFile(path) as stored:
            parts = {name: stored.read(name) for name in stored.namelist()}
        before = json.loads(parts["config.json"])
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ValueError(f"{path.name}: expected a complete Keras file. Received: {error}") from None
    after = convert_network(before)
    if after == before:
        return None
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as written:
        for name, data in {**parts, "config.json": json.dumps(after).encode()}.items():
            written.writestr(name, data)
    return whole.getvalue()


def _convert_checkpoint(path: Path) -> bytes | None:
    try:
        with np.load(path) as stored:
            arrays = {name: stored[name] for name in stored.files}
        before = json.loads(arrays["about"].tobytes())
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError) as error:
        raise ValueError(f"{path.name}: expected a complete checkpoint; remove this file. Received: {error}") from None
    after = convert_record(before)
    if after == before:
        return None
    whole = io.BytesIO()
    np.savez(whole, **{**arrays, "about": np.frombuffer(json.dumps(after).encode(), np.uint8)})
    return whole.getvalue()


def _convert_inputs(path: Path) -> bytes | None:
    return _convert_json(path, lambda saved: [*map(convert_field, saved)])


def _convert_target(path: Path) -> bytes | None:
    return _convert_json(path, lambda saved: {**saved, "config": _convert_rules(saved["config"])})


def _convert_history(path: Path) -> bytes | None:
    return _convert_json(path, lambda saved: [*map(_convert_metrics, saved)])


# By path in a folder; config.json is written last, so that an interrupted conversion is repeated.
_CONVERTERS: Mapping[str, Callable[[Path], bytes | None]] = {
    "checkpoints/[0-9]*-*-*.npz": _convert_checkpoint,
    "model.keras": _convert_keras,
    "assets/inputs.json": _convert_inputs,
    "assets/target.json": _convert_target,
    "history.json": _convert_history,
    "config.json": lambda path: _convert_json(path, _convert_config),
}


def convert(folder: str | Path) -> list[str]:
    """Convert a run or a saved model to the new names, and return the files that were changed.

    All files are read before any is written, so a folder that cannot be converted stays unchanged.

    Raises:
        ValueError: If the folder contains neither a model nor a checkpoint, or if one of its files is damaged.
    """
    folder = Path(folder)
    found = [(path, change(path)) for place, change in _CONVERTERS.items() for path in sorted(folder.glob(place))]
    if not found:
        raise ValueError(f"expected a run folder or the folder of a saved model. Received: {folder}")
    changed = [(path, data) for path, data in found if data is not None]
    for path, data in changed:
        checkpoint = path.suffix == ".npz"  # its name contains a hash of its content
        place = path.with_name(f"{path.stem.rpartition('-')[0]}-{digest(data)}.npz") if checkpoint else path
        with write_atomically(place) as aside:
            aside.write_bytes(data)
        if checkpoint:
            path.unlink()
    return [str(path.relative_to(folder)) for path, _ in changed]


def main(arguments: list[str] | None = None) -> int:
    """Convert the folders given on the command line."""
    parser = argparse.ArgumentParser(prog="python -m seqattn_tf.convert", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER", help="a run folder or the folder of a saved model"
    )
    for folder in parser.parse_args(arguments).folders:
        try:
            changed = convert(folder)
        except (ValueError, OSError) as error:
            print(f"{folder}: {error}", file=sys.stderr)
            return 1
        print(f"{folder}: {', '.join(changed) or 'nothing to change'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
