"""The demonstration: a small model, from training to a served and explained answer.

It trains the small `pronounce` model, exports it to SavedModel and LiteRT, serves it, and requests the pronunciation of
unseen words by REST and gRPC. Then the `caption_scene` preset describes images. The results are figures and a page;
results of an earlier run are reused.
"""

import dataclasses
import json
import shutil
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from seqattn_tf.core.atomic_io import write_json
from seqattn_tf.explain import Entry, draw_answer, save_figure, write_page
from seqattn_tf.export.forms import Lite
from seqattn_tf.export.package import export
from seqattn_tf.export.versions import EXTRA, versions
from seqattn_tf.lite import manifest
from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.models import load
from seqattn_tf.models.base import read_config
from seqattn_tf.presets import open_model
from seqattn_tf.serving.client import connect
from seqattn_tf.serving.server import Server, ServerConfig
from seqattn_tf.training import recipes, run
from seqattn_tf.training.data import Example
from seqattn_tf.training.data.corpora import scenes
from seqattn_tf.training.data.examples import group_targets
from seqattn_tf.training.tasks import Settings

_WORDS, _SCENES = 6, 3  # how many are shown


def demo(folder: Path) -> None:
    """Run the demonstration, with all files below `folder`."""
    began = time.time()
    recipe = recipes.get("pronounce")
    print("1. train: letters -> phonemes, small preset", flush=True)
    _forget_other_settings(folder / "run", recipe.small)
    run.train(recipe, recipe.small, folder / "run")
    test = recipe.load(None, recipe.small).test
    figures = _measure(folder / "run", test)
    errors, wrong = figures["symbol_error_rate"], figures["answer_error_rate"]
    print(f"   on {figures['words']} held-out words: PER {errors:.3f}, WER {wrong:.3f}", flush=True)

    print("2. export: SavedModel and LiteRT", flush=True)
    exported = _export_once(folder)

    print("3. serve it and query words it was not trained on", flush=True)
    words = _choose(test)
    answers = _ask(folder, exported, list(words))

    pictures = []
    for word, answer in answers.items():
        save_figure(draw_answer(word, answer), folder / f"{word}.png")
        note = "correct" if answer.text in words[word] else "in the dictionary: " + " or ".join(words[word])
        pictures.append(Entry(word, answer.text, answer.score, f"{word}.png", note))
        print(f"   {word:<14} {answer.text:<32} {note}", flush=True)
    print("4. caption images with the shipped caption_scene model", flush=True)
    pictures += _see(folder)
    facts = {
        "held-out words": f"{figures['words']:,}",
        "phoneme error rate": f"{figures['symbol_error_rate']:.1%}",
        "word error rate": f"{figures['answer_error_rate']:.1%}",
        "training": f"{read_config(folder / 'run')['record']['seconds']:.0f} s on a CPU",
    }
    intro = (
        "A small recurrent network read these words letter by letter and generated their phonemes one by one. None of "
        "the words was in its training data. Each row is a phoneme; dark cells are the letters it attended to. Another "
        "network captioned the images at the end: each image is shown once per word, bright where that word attends."
    )
    write_page(folder / "index.html", "From letters to phonemes, and from images to captions", intro, pictures, facts)
    print(f"5. open {folder / 'index.html'}   (total time {time.time() - began:.0f} s)")


def _see(folder: Path) -> list[Entry]:
    """Describe scenes of the test split with the captioner that ships with the package, and draw its attention."""
    model, entries = open_model("caption_scene"), []
    for number, example in enumerate(scenes.examples(_SCENES, "test"), 1):
        picture, name = example.inputs["image"], f"scene {number}"
        [answer] = model.answer([picture.read()])
        file = f"scene-{number}.png"
        save_figure(draw_answer("", answer, picture=picture.pixels()), folder / file)
        note = "correct" if answer.text == example.target else f"correct: {example.target}"
        entries.append(Entry(name, answer.text, answer.score, file, note))
        print(f"   {name:<14} {answer.text:<42} {note}", flush=True)
    return entries


def _measure(folder: Path, test: Sequence[Example]) -> dict[str, float]:
    """Return the error rates on the test split, which are computed once per trained model."""
    stored, stamp = folder / "test.json", (folder / "model.keras").stat().st_mtime_ns
    if stored.is_file() and (figures := json.loads(stored.read_text())).get("model") == stamp:
        return figures
    report = recipes.get("pronounce").task.measure(load(folder), test, quiet=False)
    figures = {**report.metrics, "words": len(group_targets(test)), "model": stamp}
    write_json(stored, figures)
    return figures


def _export_once(folder: Path) -> Path:
    """Return the exported version of the run; export the run if there is none."""
    target, record = folder / "models" / "pronounce", read_config(folder / "run")["record"]
    if (held := versions(target)) and _record(target / str(held[-1])) == manifest.without_examples(record):
        print(f"   {target / str(held[-1])} exists already", flush=True)
        return target / str(held[-1])
    done = export(folder / "run", target)
    agreeing = ", ".join(f"{title} {count}" for title, count in done.agreeing.items())
    print(f"   {done.version}")
    print(f"   agree with the Keras model on {done.rows} words, mostly synthetic: {agreeing}")
    return done.version


def _record(version: Path) -> dict:
    return manifest.read(version / EXTRA)["record"]


def _forget_other_settings(folder: Path, settings: Settings) -> None:
    """Remove a run with other settings, such as one of an earlier version of the recipe."""
    held = read_config(folder)["record"].get("settings") if (folder / "config.json").is_file() else None
    if held not in (None, dataclasses.asdict(settings)):
        shutil.rmtree(folder)


def _choose(test: Sequence[Example]) -> dict[str, list[str]]:
    """Return several words of medium length, spread over the test split."""
    groups = [
        (word, targets) for word, targets in group_targets(test).items() if word.isalpha() and 7 <= len(word) <= 10
    ]
    return dict(groups[len(groups) // (2 * _WORDS) :: len(groups) // _WORDS][:_WORDS])


def _ask(folder: Path, version: Path, words: list[str]) -> dict[str, Answer]:
    """Return the answers by gRPC, and report how many of them agree with REST and LiteRT."""
    with Server(ServerConfig(folder / "models", rest_api_port=0, port=0)) as server:
        print(f"   {server.rest_url}  grpc://{server.grpc_address}")
        with closing(connect(server.rest_url)) as rest, closing(connect(f"grpc://{server.grpc_address}")) as grpc:
            by_rest, answers = (client.answer("pronounce", words) for client in (rest, grpc))
    edge = LiteModel(version / Lite.place).answer(words)
    for way, others in (("REST", by_rest), ("LiteRT", edge)):
        same = sum(a.text == b.text for a, b in zip(answers, others, strict=True))
        print(f"   {way} and gRPC agree on {same} of {len(words)} words")
    return dict(zip(words, answers, strict=True))
