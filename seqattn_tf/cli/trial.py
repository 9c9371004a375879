"""The process of one run of a sweep: `python -m seqattn_tf.cli.trial [--then-evaluate] train RECIPE --run RUN ...`.

It ends, with its state saved, when its standard input is closed, which happens even if the sweep is killed.
"""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from seqattn_tf import cli
from seqattn_tf.core.atomic_io import write_json
from seqattn_tf.training.runs import TEST


def main(arguments: Sequence[str]) -> int:
    """Train a run and, with `--then-evaluate`, store its metrics on the test split in `test.json`."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    then_evaluate = arguments[0] == "--then-evaluate"
    command = arguments[1:] if then_evaluate else arguments
    status = cli.main(command)
    if status or not then_evaluate:
        return status
    from seqattn_tf.training.evaluation import evaluate
    from seqattn_tf.training.reports import described

    folder = Path(command[command.index("--run") + 1])
    write_json(folder / TEST, described(evaluate(folder)))
    return 0


def _end_with_input() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
