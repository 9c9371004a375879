"""Commands that export and serve models, and a demonstration of the whole workflow."""

import argparse
import contextlib
import importlib.metadata
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seqattn_tf import __version__
from seqattn_tf.cli.base import Commands, load_tensorflow
from seqattn_tf.core.registry import suggest

if TYPE_CHECKING:
    from seqattn_tf.serving.config import ServerConfig


def add(commands: Commands) -> None:
    """Add the commands of this module."""
    demo = commands.add(
        "demo", _demo, "train a small model, export it, serve it, query it and draw its attention", foreign=False
    )
    demo.add_argument("--folder", type=Path, default=Path("demo"), help="output folder (default: demo)")

    export = commands.add(
        "export", _export, "export a model as SavedModel and LiteRT, verified against the Keras model"
    )
    export.add_argument("model", nargs="?", help="a run folder or a preset")
    export.add_argument("target", type=Path, nargs="?", help="models/NAME; the export becomes its next version")
    export.add_argument(
        "--no-lite", action="store_true", help="export the SavedModel only, for models that LiteRT cannot run"
    )
    export.add_argument(
        "--lite-weights",
        choices=("float32", "int8"),
        default="float32",
        help="int8: a quarter of the size and faster; approximates the Keras model (default: float32)",
    )
    export.add_argument(
        "--static",
        type=int,
        default=0,
        metavar="N",
        help="length of the inputs of the LiteRT file, for runtimes that need fixed shapes (default: any length)",
    )
    export.add_argument(
        "--check",
        type=Path,
        metavar="DIR",
        help="write nothing; check whether TensorFlow Serving can run the SavedModel in DIR",
    )

    from seqattn_tf.serving.config import ENGINES, add_flags

    serve = commands.add(
        "serve", _serve, "serve exported models over TensorFlow Serving's REST and gRPC APIs", foreign=False
    )
    serve.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="names of presets, or one folder of exported models (default: all presets)",
    )
    serve.add_argument(
        "--engine",
        choices=("auto", *ENGINES),
        default="auto",
        help="tensorflow runs SavedModels as TensorFlow Serving does; litert runs LiteRT exports, without TensorFlow "
        "(default: litert for presets, tensorflow for a folder)",
    )
    serve.add_argument(
        "--embedded", action="store_true", help="use the embedded server even if TensorFlow Serving is installed"
    )
    serve.add_argument("--container_image", default="", help="run TensorFlow Serving from this Docker image")
    serve.add_argument(
        "--version", action="store_true", help="print the versions of the server and of TensorFlow, and exit"
    )
    add_flags(serve)


def _demo(options: argparse.Namespace) -> None:
    load_tensorflow()
    from seqattn_tf.demo import demo

    demo(options.folder)


def _export(options: argparse.Namespace) -> int:
    if (options.check is None) != (options.target is not None) or (options.check and options.model):
        raise ValueError("expected MODEL and TARGET, or --check DIR. Received: neither or both")
    if options.check is not None:
        return _check(options.check)
    from seqattn_tf.presets import find

    model = find(options.model)
    load_tensorflow()
    from seqattn_tf.export.forms import Lite, QuantizedLite, SavedModel
    from seqattn_tf.export.package import export

    if options.static and options.no_lite:
        raise ValueError(f"static: expected a LiteRT file. Received: {options.static} with --no-lite")
    lite = (QuantizedLite if options.lite_weights == "int8" else Lite)(options.static)
    forms = [SavedModel()] if options.no_lite else [SavedModel(), lite]
    done = export(model, options.target, forms=forms)
    print(done.version if options.no_lite else f"{done.version}  {done.lite}")
    agreeing = ", ".join(f"{title} {count}" for title, count in done.agreeing.items())
    print(f"agree with the Keras model on {done.rows} rows: {agreeing}")
    return 0


def _check(folder: Path) -> int:
    """Print the results of TensorFlow's C++ loader for each version; return status 1 if a version cannot be served."""
    load_tensorflow()
    from seqattn_tf.export.compatibility import check

    found = check(folder)
    for version, findings in found.items():
        print(version)
        for finding in findings:
            print(f"  {finding}")
    return int(any(finding.fault for findings in found.values() for finding in findings))


def _serve(options: argparse.Namespace) -> None:
    if options.version:
        return _print_versions()
    config = _config(options)
    if config.engine == "tensorflow":
        load_tensorflow()
    from seqattn_tf.serving import launcher

    if options.container_image or (config.engine == "tensorflow" and launcher.find() and not options.embedded):
        launcher.serve(config, options.container_image)
    else:
        from seqattn_tf.serving.server import serve

        for line in (
            "using the embedded server: for development, tests and small installations",
            *config.idle(),
        ):
            print(line, file=sys.stderr)
        serve(config)


def _config(options: argparse.Namespace) -> "ServerConfig":
    """Return the configuration: of presets, which are exported first if TensorFlow runs them, or of other models."""
    from seqattn_tf.presets import FOLDER, presets
    from seqattn_tf.serving.config import from_flags

    elsewhere = options.model_base_path is not None or options.model_config_file is not None
    names = tuple(options.models or ([] if elsewhere else presets()))
    if not names or not set(names) <= set(presets()):
        engine = "tensorflow" if options.engine == "auto" else options.engine
        return from_flags(_folder(names), options, engine=engine)
    if options.container_image and options.engine == "litert":
        raise ValueError("engine: expected tensorflow with a container image. Received: 'litert'")
    if options.engine != "tensorflow" and not options.container_image:
        return from_flags(FOLDER, options, names, "litert")
    load_tensorflow()
    from seqattn_tf.export.package import export_presets

    return from_flags(export_presets(names), options, names)


def _folder(names: Sequence[str]) -> Path | None:
    if len(names) == 1 and Path(names[0]).is_dir():
        return Path(names[0])
    if names:
        from seqattn_tf.presets import presets

        wrong = next((name for name in names if name not in presets()), "")
        raise ValueError(
            f"models: expected presets ({', '.join(presets())}) or one folder of exported models. "
            f"Received: {' '.join(names)}{suggest(wrong, presets())}"
        )
    return None


def _print_versions() -> None:
    print(f"seqattn_tf: {__version__}")
    for title, package in (("TensorFlow Library", "tensorflow"), ("LiteRT", "ai-edge-litert")):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            print(f"{title}: {importlib.metadata.version(package)}")
