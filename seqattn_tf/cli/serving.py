"""Commands that export, serve, and do all of it once."""

import argparse
import sys
from pathlib import Path

from seqattn_tf import __version__
from seqattn_tf.cli.base import Commands


def add(commands: Commands) -> None:
    """The commands."""
    demo = commands.add(
        "demo", _demo, "train a small model, export, serve, ask it, and draw what it looked at", foreign=False
    )
    demo.add_argument("--folder", type=Path, default=Path("demo"), help="where everything goes")

    export = commands.add("export", _export, "write SavedModel and LiteRT, verified against the Keras model")
    export.add_argument("model", nargs="?", help="the folder of a run, or a preset")
    export.add_argument("target", type=Path, nargs="?", help="models/NAME, which gets its next version")
    export.add_argument("--no-lite", action="store_true", help="the SavedModel alone, of what LiteRT has no ops for")
    export.add_argument(
        "--lite-weights",
        choices=("float32", "int8"),
        default="float32",
        help="int8: a quarter of the file, faster, and near the Keras model rather than equal",
    )
    export.add_argument(
        "--check",
        type=Path,
        metavar="DIR",
        help="write nothing; tell whether TensorFlow Serving can run a SavedModel",
    )

    from seqattn_tf.serving.config import add_flags

    serve = commands.add(
        "serve", _serve, "serve a folder of exported models by TensorFlow Serving's REST and gRPC", foreign=False
    )
    serve.add_argument("models", type=Path, nargs="?", help="the folder; without it the presets are served")
    serve.add_argument("--embedded", action="store_true", help="our own server, even where TensorFlow Serving is")
    serve.add_argument("--container_image", default="", help="run TensorFlow Serving from this image, with Docker")
    serve.add_argument("--version", action="store_true", help="print the versions of server and TensorFlow, and end")
    add_flags(serve)


def _demo(options: argparse.Namespace) -> None:
    from seqattn_tf.demo import demo

    demo(options.folder)


def _export(options: argparse.Namespace) -> int:
    if (options.check is None) != (options.target is not None) or (options.check and options.model):
        raise ValueError("expected either MODEL and TARGET, or --check DIR. Received: neither or both")
    if options.check is not None:
        return _check(options.check)
    from seqattn_tf.export.forms import Lite, QuantizedLite, SavedModel
    from seqattn_tf.export.package import export
    from seqattn_tf.models.presets import find

    lite = QuantizedLite() if options.lite_weights == "int8" else Lite()
    forms = [SavedModel()] if options.no_lite else [SavedModel(), lite]
    done = export(find(options.model), options.target, forms=forms)
    print(done.version if options.no_lite else f"{done.version}  {done.lite}")
    agreeing = ", ".join(f"{title} {count}" for title, count in done.agreeing.items())
    print(f"agree with the Keras model on {done.rows} rows: {agreeing}")
    return 0


def _check(folder: Path) -> int:
    """Say of each version what TensorFlow's C++ loader makes of it; status 1 where one cannot be served."""
    from seqattn_tf.export.check import check

    found = check(folder)
    for version, findings in found.items():
        print(version)
        for finding in findings:
            print(f"  {finding}")
    return int(any(finding.fault for findings in found.values() for finding in findings))


def _serve(options: argparse.Namespace) -> None:
    from seqattn_tf.serving import launcher
    from seqattn_tf.serving.config import from_flags

    if options.version:
        return _print_versions()
    models = options.models
    if models is None and options.model_base_path is None and options.model_config_file is None:
        from seqattn_tf.export.package import export_presets

        models = export_presets()
    config = from_flags(models, options)
    if options.container_image or (launcher.find() and not options.embedded):
        launcher.serve(config, options.container_image)
    else:
        from seqattn_tf.serving.server import serve

        for line in ("the embedded server: for development, tests and small installations", *config.idle()):
            print(line, file=sys.stderr)
        serve(config)


def _print_versions() -> None:
    import tensorflow as tf

    print(f"seqattn_tf: {__version__}\nTensorFlow Library: {tf.__version__}")
