"""Write the LiteRT file of a shipped model, for the developers of the package.

    python -m seqattn_tf.ship tag --data UD_English-EWT

The file has int8 weights if its answers are those of the Keras model on at least 99.5 % of the held-out rows, otherwise
float32 weights.
"""

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from seqattn_tf.core.atomic_io import write_atomically
from seqattn_tf.core.digests import digest_files
from seqattn_tf.export.describe import describe
from seqattn_tf.export.forms import Lite, QuantizedLite
from seqattn_tf.lite import manifest
from seqattn_tf.lite.formats import MODEL_FILES
from seqattn_tf.presets import FOLDER, LITE
from seqattn_tf.training.evaluation import open_run
from seqattn_tf.training.record import read_record

SAME_TEXTS = 0.995  # the least share of rows with the same text
_ROWS = 2000
_BATCH = 32


def ship(folder: Path, data: str | Path | None = None, rows: int = _ROWS) -> dict[str, int]:
    """Write the LiteRT file of a model, and return on how many rows it was verified and gives the same text.

    Args:
        folder: The folder of the model, whose name is that of the preset.
        data: The location of its data, if it has changed since training.
        rows: The number of rows of the test split to compare, evenly spread, with different inputs.

    Raises:
        ValueError: If float32 weights give another text for too many rows, too.
    """
    task, model, splits = open_run(folder, data)
    held_out = list({example.key: example for example in splits.test}.values())
    chosen = [held_out[i * len(held_out) // rows] for i in range(rows)] if len(held_out) > rows else held_out
    inputs = [
        {name: model.inputs[name].raw(value) for name, value in task.model_inputs(example).items()}
        for example in chosen
    ]
    batches = [inputs[first : first + _BATCH] for first in range(0, len(inputs), _BATCH)]
    texts = [answer.text for batch in tqdm(batches, "Keras") for answer in model.answer(batch)]
    described = {
        **describe(model, read_record(folder)),
        "name": folder.name,
        "made_from": digest_files(folder, MODEL_FILES),
    }
    same = 0
    for form in (QuantizedLite(), Lite()):
        with tempfile.TemporaryDirectory() as temporary:
            made = Path(temporary) / LITE  # unlike the temporary folder, readable for all users
            made.mkdir()
            described |= form.write(model, made, described)
            answer = form.open(made)
            pairs = tqdm(zip(inputs, texts, strict=True), form.weights, len(texts))
            same = sum(answer([row])[0].text == text for row, text in pairs)
            if same >= SAME_TEXTS * len(texts):
                described["verified"] = {"rows": len(texts), "same_text": same}
                form.describe(made, described)
                with write_atomically(folder / LITE, replace_folder=True) as aside:
                    shutil.copytree(made, aside)
                return described["verified"]
    raise ValueError(
        f"{folder.name}: expected the same text on {SAME_TEXTS:.1%} of rows. Received: {same} of {len(texts)}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the LiteRT file of one preset and print the result."""
    parser = argparse.ArgumentParser(prog="python -m seqattn_tf.ship", description=__doc__.partition("\n")[0])
    parser.add_argument("preset", help="the name of the preset")
    parser.add_argument("--data", help="location of the data, if it has changed since training")
    options = parser.parse_args(arguments)
    done = ship(FOLDER / options.preset, options.data)
    lite = manifest.read(FOLDER / options.preset / LITE)["lite"]
    print(
        f"{options.preset}: {lite['weights']}, {lite['bytes'] / 1e6:.2f} MB; "
        f"the same text on {done['same_text']} of {done['rows']} rows"
    )


if __name__ == "__main__":
    main()
