"""The process of one run of a sweep: `python -m seqattn_tf.cli.trial [--then-evaluate] train RECIPE --run RUN ...`.

It ends, with its state saved, when its standard input is closed, which happens even if the sweep is killed.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from seqattn_tf import cli
from seqattn_tf.core.atomic_io import write_atomically
from seqattn_tf.training.runs import TEST


def main(arguments: Sequence[str]) -> int:
    """Train a run and, with `--then-evaluate`, store its metrics on the test split in `test.json`."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    then_evaluate = arguments[0] == "--then-evaluate"
    command = arguments[1:] if then_evaluate else arguments
    status = cli.main(command)
    if status or not then_evaluate:
        return status
    from seqattn_tf.training import reports
    from seqattn_tf.training.evaluation import evaluate

    folder = Path(command[command.index("--run") + 1])
    found = json.loads(reports.as_json({folder.name: evaluate(folder)}))["models"][folder.name]
    with write_atomically(folder / TEST) as aside:
        aside.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


def _end_with_input() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
