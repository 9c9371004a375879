"""The demonstration: one real word, from the dictionary to a served and explained answer.

Trains the small `pronounce` model, exports it to SavedModel and LiteRT, serves it, asks it by REST and gRPC for words
it has never seen. Then the shipped `caption_scene` says what pictures show. Leaves pictures and a page behind; what is
already there is used again.
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
from seqattn_tf.export.package import EXTRA, export
from seqattn_tf.export.versions import versions
from seqattn_tf.lite import manifest
from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.models import load
from seqattn_tf.models.base import read_config
from seqattn_tf.models.presets import open_model
from seqattn_tf.serving.client import connect
from seqattn_tf.serving.server import Server, ServerConfig
from seqattn_tf.training import recipes, run
from seqattn_tf.training.data import Example
from seqattn_tf.training.data.corpora import scenes
from seqattn_tf.training.data.examples import group_targets
from seqattn_tf.training.tasks import Settings

_WORDS, _SCENES = 6, 3  # to show


def demo(folder: Path) -> None:
    """Run everything below `folder`."""
    began = time.time()
    recipe = recipes.get("pronounce")
    print("1. train: letters -> phonemes, small preset", flush=True)
    _forget_other_settings(folder / "run", recipe.small)
    run.train(recipe, recipe.small, folder / "run")
    test = recipe.load(None, recipe.small).test
    figures = _measure(folder / "run", test)
    print(f"   on {figures['words']} held-out words: PER {figures['per']:.3f}, WER {figures['wer']:.3f}", flush=True)

    print("2. export: SavedModel and LiteRT", flush=True)
    exported = _export_once(folder)

    print("3. serve and ask for words it has never seen", flush=True)
    words = _choose(test)
    answers = _ask(folder, exported, list(words))

    pictures = []
    for word, answer in answers.items():
        save_figure(draw_answer(word, answer), folder / f"{word}.png")
        note = (
            "as in the dictionary" if answer.text in words[word] else "the dictionary says " + " or ".join(words[word])
        )
        pictures.append(Entry(word, answer.text, answer.score, f"{word}.png", note))
        print(f"   {word:<14} {answer.text:<32} {note}", flush=True)
    print("4. show it pictures of what it has never seen together", flush=True)
    pictures += _see(folder)
    facts = {
        "held-out words": f"{figures['words']:,}",
        "phoneme error rate": f"{figures['per']:.1%}",
        "word error rate": f"{figures['wer']:.1%}",
        "training": f"{read_config(folder / 'run')['record']['seconds']:.0f} s on a CPU",
    }
    intro = (
        "A small recurrent network read these words letter by letter and said each sound in turn. None was in its "
        "training data. A row is a sound it said; dark cells are the letters it looked at just before. Another network "
        "said what the last pictures show: each stands there once for every word, light where that word looked."
    )
    write_page(folder / "index.html", "How a word is spoken, and what a picture shows", intro, pictures, facts)
    print(f"5. look at {folder / 'index.html'}   ({time.time() - began:.0f} s in all)")


def _see(folder: Path) -> list[Entry]:
    """Scenes of the test split as the shipped captioner describes them, with where each of its words looked."""
    model, entries = open_model("caption_scene"), []
    for number, example in enumerate(scenes.examples(_SCENES, "test"), 1):
        picture, name = example.inputs["image"], f"scene {number}"
        [answer] = model.answer([picture.read()])
        file = f"scene-{number}.png"
        save_figure(draw_answer("", answer, picture=picture.pixels()), folder / file)
        note = "which is right" if answer.text == example.target else f"it shows {example.target}"
        entries.append(Entry(name, answer.text, answer.score, file, note))
        print(f"   {name:<14} {answer.text:<42} {note}", flush=True)
    return entries


def _measure(folder: Path, test: Sequence[Example]) -> dict[str, float]:
    """The error rates on the test split, measured once per trained model."""
    stored, stamp = folder / "test.json", (folder / "model.keras").stat().st_mtime_ns
    if stored.is_file() and (figures := json.loads(stored.read_text())).get("model") == stamp:
        return figures
    report = recipes.get("pronounce").task.measure(load(folder), test, quiet=False)
    figures = {**report.figures, "words": len(group_targets(test)), "model": stamp}
    write_json(stored, figures)
    return figures


def _export_once(folder: Path) -> Path:
    """The version that holds the run, exported where there is none."""
    target, record = folder / "models" / "pronounce", read_config(folder / "run")["record"]
    if (held := versions(target)) and _record(target / str(held[-1])) == manifest.without_examples(record):
        print(f"   {target / str(held[-1])} is there", flush=True)
        return target / str(held[-1])
    done = export(folder / "run", target)
    agreeing = ", ".join(f"{title} {count}" for title, count in done.agreeing.items())
    print(f"   {done.version}")
    print(f"   agree with Keras on {done.rows} words, most of them made up: {agreeing}")
    return done.version


def _record(version: Path) -> dict:
    return manifest.read(version / EXTRA)["record"]


def _forget_other_settings(folder: Path, settings: Settings) -> None:
    """A run left by an earlier version of the recipe is of no use to the demonstration."""
    held = read_config(folder)["record"].get("settings") if (folder / "config.json").is_file() else None
    if held not in (None, dataclasses.asdict(settings)):
        shutil.rmtree(folder)


def _choose(test: Sequence[Example]) -> dict[str, list[str]]:
    """A few words of middling length, spread over the test split."""
    groups = [
        (word, targets) for word, targets in group_targets(test).items() if word.isalpha() and 7 <= len(word) <= 10
    ]
    return dict(groups[len(groups) // (2 * _WORDS) :: len(groups) // _WORDS][:_WORDS])


def _ask(folder: Path, version: Path, words: list[str]) -> dict[str, Answer]:
    """Answers by gRPC, the same as by REST and by LiteRT."""
    with Server(ServerConfig(folder / "models", rest_api_port=0, port=0)) as server:
        print(f"   {server.rest_url}  grpc://{server.grpc_address}")
        with closing(connect(server.rest_url)) as rest, closing(connect(f"grpc://{server.grpc_address}")) as grpc:
            by_rest, answers = (client.answer("pronounce", words) for client in (rest, grpc))
    edge = LiteModel(version / Lite.place).answer(words)
    for way, others in (("REST", by_rest), ("LiteRT", edge)):
        same = sum(a.text == b.text for a, b in zip(answers, others, strict=True))
        print(f"   {way} and gRPC agree on {same} of {len(words)} words")
    return dict(zip(words, answers, strict=True))
